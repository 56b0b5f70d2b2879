package rules

// pairSendBuffer: the send buffer of an end against the path as it was measured.
// The buffer holds sent and unacknowledged data with its bookkeeping, so it
// never carries more than its size (net/ipv4/tcp_output.c, sk_wmem_queued).
func pairSendBuffer() PairRule {
	return PairRule{
		ID:    "pair-send-buffer-below-bdp",
		Doc:   "The largest send buffer of a host is smaller than the rate of the path times its measured round trip: one connection cannot fill it.",
		Check: windows("tcp_wmem", "keeps unacknowledged data in a send buffer of at most", "RFC 7323 section 1.1; Documentation/networking/ip-sysctl.rst", 1),
	}
}
