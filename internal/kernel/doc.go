// Package kernel is the only access to the operating system: /proc and /sys, netlink, ethtool,
// namespaces, raw packets and other processes. Roots are parameters, so that every reader can be
// pointed at a recorded tree. It parses bytes and performs operations; it draws no conclusions
// and decides nothing.
package kernel
