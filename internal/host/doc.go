// Package host reaches hosts and is what runs there. Local, in a lab and over
// ssh are one thing: a command whose stdin and stdout carry JSON-RPC 2.0, one
// message per line, with an agent at the far end that reads facts, applies
// and undoes plans, samples counters and runs load workers. protocol.go lists its
// methods.
//
// It refuses everything but these typed operations: an agent runs no command
// that it is sent, opens no port but for a probe that answers one
// peer for two minutes at most, and ends, with all it started, when its
// stdin does. Of a file that a request names it reveals only the size and how fast it
// was read or written; it writes to one only as a storage load that names it, under
// the refusals of load/storage. Names
// that ssh could take for options and messages above MaxMessage are refused. It keeps no ssh
// configuration, keys or passwords of its own: that is the system's ssh.
package host
