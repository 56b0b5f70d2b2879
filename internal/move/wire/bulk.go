package wire

import "net"

// bulk reads a connection of which it is known at times that so many more bytes have to come
// before anything can be done with them: the rest of a record, or of a frame's data. Whoever
// reads is then woken once for much, where the system can do that, and not for every packet.
// Deadlines, the connection's end and its errors are as those of the connection. One goroutine
// may read.
type bulk struct {
	c    net.Conn
	need int // bytes that have to come before anything can be done with them
	low  lowWater
}

func newBulk(c net.Conn) *bulk { return &bulk{c: c, low: lowWaterOf(c)} }

// expect tells that nothing can be done before n more bytes have come; less than 1: that any
// byte counts. A nil bulk need not be told.
func (b *bulk) expect(n int) {
	if b != nil {
		b.need = max(0, n)
	}
}

// Read implements io.Reader.
func (b *bulk) Read(p []byte) (int, error) {
	n, err := b.low.read(b.c, p, b.need)
	b.need = max(0, b.need-n)
	return n, err
}
