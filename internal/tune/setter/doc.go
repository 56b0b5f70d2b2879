// Package setter holds the mechanisms by which a setting is read and written:
// one file per mechanism. A setter reads, writes and says how a shell would do
// the same; it keeps no record, undoes nothing and judges no value. It refuses
// settings that are not its own, values that are malformed, and devices named
// by anything that a reboot can change.
package setter
