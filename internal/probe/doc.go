// Package probe finds out with a few datagrams what the path between two hosts
// carries: whether they arrive, at which interface, how long the way there and
// back takes, and the largest packet that passes whole. Both ends take part:
// what was sent at one is counted at the other, so that the answer does not
// hang on ICMP messages that filters swallow.
//
// It refuses to be a load: a socket sends at most MaxDatagrams of them, with a
// pause after each, to the one address that it was opened for, and is closed
// after MaxLife whatever happens. It answers nobody who does not know its token,
// and never with more bytes than it was sent.
package probe
