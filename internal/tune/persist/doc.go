// Package persist says which files make settings survive a restart: values in, the whole text of
// files out. It is pure: a function passed in reads the present files, and nothing is written;
// tune writes them through its journal.
//
// It refuses to guess. A setting that no known file makes permanent is returned with the reason;
// a file of linerate's name without linerate's mark is not touched; in a file of the host (fstab,
// a NetworkManager keyfile) it changes only one option and keeps every other byte.
package persist
