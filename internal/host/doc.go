// Package host implements both sides of the agent protocol: the controller, which starts an
// agent on a host and calls it, and the agent. A local host, a lab host and one behind ssh
// differ only in the command that starts the agent. Its stdin and stdout carry JSON-RPC 2.0,
// one message per line. The agent reads facts, applies and undoes plans, samples counters and
// runs load workers. protocol.go lists its methods.
//
// It refuses everything but these typed operations: an agent runs no command that it is sent,
// opens no port except for a probe, which answers one peer for at most two minutes, and ends
// with everything that it started when its stdin ends. Of a file that a request names it
// reveals only the size and how fast it was read or written; it writes to one only as a
// storage load that names it, under the refusals of load/storage. It refuses host names that
// ssh could take for options, and messages above MaxMessage. It has no ssh configuration, keys
// or passwords of its own: the system's ssh has them.
package host
