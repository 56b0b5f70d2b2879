// Package kernel is the only door to the operating system: /proc and /sys,
// netlink, ethtool, namespaces, raw packets and other processes. Roots are
// parameters, so that every reader can be pointed at a recorded tree. It
// interprets bytes and performs operations; it draws no conclusions and
// decides nothing.
package kernel
