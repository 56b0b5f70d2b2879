// Package fleet reaches hosts whose agents call out: over core NATS, behind the same seam as
// ssh. An agent that runs on its host keeps one connection to the site's brokers; a controller
// opens a session with it, and JSON-RPC goes through as it goes through a pipe.
//
// The broker is trusted with delivery, and with nothing else. Every message is signed by who
// says it: requests by the controller, whose key the site's root has vouched for; answers and
// samples by the host, whose ID is the hash of its key. A request names its target, the running
// agent, the session's nonce, a request id and an end of its validity by the host's own clock,
// so that nothing that a broker keeps, repeats, reorders or makes up changes a host.
//
// It refuses connections without TLS off the loopback, to keep anything in the broker (no
// JetStream), and to guess: two agents with one identity are both shown, and changed by nobody.
package fleet
