// Package persist says which files make settings outlive a restart: values in,
// the whole text of files out. It is pure: what files hold now is a function
// that it is given, and nothing is written; tune does that, by its journal.
//
// It refuses to guess. A setting that no file of this host is known to make
// permanent is named with the reason; a file of linerate's name that is not
// marked as linerate's is left alone; of a file that belongs to the host
// (fstab, a NetworkManager keyfile) it changes the one option and keeps every
// other byte.
package persist
