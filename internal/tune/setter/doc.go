// Package setter holds the mechanisms by which a setting is read and written: one file per
// mechanism. A setter reads, writes and says how a shell would do the same; it keeps no record,
// undoes nothing and judges no value. It refuses settings of other mechanisms, malformed values,
// and device names that can change at a reboot.
package setter
