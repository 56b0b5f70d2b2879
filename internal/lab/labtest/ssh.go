package labtest

// KeyExchange is a line of ssh_config(5) for the tests' own connections, of which a test opens
// dozens. OpenSSH's first choice, which is safe from quantum computers too, took two thirds of the
// processor time of such a test; this one is its choice where a server lacks that.
const KeyExchange = "KexAlgorithms curve25519-sha256"
