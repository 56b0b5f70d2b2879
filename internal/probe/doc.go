// Package probe measures with a few datagrams what the path between two hosts carries: whether
// they arrive, at which interface, the round trip, and the largest packet that passes
// unfragmented. Both ends take part: one end counts what the other sent, so that the result does
// not depend on ICMP messages, which filters may drop.
//
// It refuses to be a load: a socket sends at most MaxDatagrams, with a pause after each, only to
// the address that it was opened for, and closes after MaxLife in any case. It answers only
// datagrams with its token, and never with more bytes than it received.
package probe
