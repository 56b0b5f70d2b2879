package labtest

// KeyExchange is a line of ssh_config(5) for the tests' own connections, of which a test opens
// dozens. OpenSSH's first choice, which is also safe from quantum computers, took two thirds of the
// processor time of such a test; this is what it chooses with a server that lacks that.
const KeyExchange = "KexAlgorithms curve25519-sha256"
