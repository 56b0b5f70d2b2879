// Package wire carries a copy between two hosts: the connections of a run, which all use
// one port of one end, the frames on them, and what the end that reads (Send) and the end
// that writes (Receive) say to each other.
//
// Every connection opens with 8 bytes that name the protocol, so that a stranger is let go
// after as many. Then there is a handshake of TLS 1.3 whose two certificates are made for the
// run and known to the other end by the hash of their keys, and records that are sealed by
// keys of that handshake (record.go), or, with Plain, a proof that both ends know the run's
// secret. What frames say is authenticated with a key of the run, the connection
// and the direction, and counted: a frame that was changed, repeated, left out or moved
// ends the run. The data of files are proven by the hashes that stand in the frames.
//
// It refuses to open files or to choose names: a move.Source reads and a move.Sink writes.
// It takes no length from outside without a bound, and nothing that it receives is a path
// before the sink has checked it. docs/security.md says what all this is worth.
package wire
