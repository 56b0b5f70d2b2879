package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"linerate/internal/move"
)

// What a byte costs both ends, in CPU seconds for 10^9: in the clear, by crypto/tls, and in
// records. One process is both ends.
func BenchmarkLoopback(b *testing.B) {
	for _, way := range []string{"plain", "tls", "records"} {
		b.Run(way, func(b *testing.B) {
			near, far := ends(b, way)
			b.SetBytes(move.BlockSize)
			done := make(chan error, 1)
			go func() {
				buf := make([]byte, move.BlockSize)
				for range b.N {
					if _, err := io.ReadFull(far, buf); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			block := pattern(move.BlockSize)
			before := cpu(b)
			b.ResetTimer()
			for range b.N {
				if _, err := near.Write(block); err != nil {
					b.Fatal(err)
				}
			}
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((cpu(b)-before).Seconds()/(float64(b.N)*move.BlockSize/1e9), "cpu-s/GB")
		})
	}
}

// ends of a connection that the two have shaken hands on.
func ends(b *testing.B, way string) (near, far net.Conn) {
	b.Helper()
	keysA, keysB := keysOf(b, way == "plain")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	in, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = out.Close(), in.Close() })
	switch way {
	case "plain":
		return out, in
	case "tls":
		client, server := tls.Client(out, keysA.config()), tls.Server(in, keysB.config())
		done := make(chan error, 1)
		go func() { done <- server.HandshakeContext(context.Background()) }()
		if err := errors.Join(client.HandshakeContext(context.Background()), <-done); err != nil {
			b.Fatal(err)
		}
		return client, server
	}
	conns := make(chan *Conn, 1)
	go func() {
		c, err := keysB.Accept(context.Background(), in)
		if err != nil {
			b.Error(err)
		}
		conns <- c
	}()
	c, err := keysA.Dial(context.Background(), out, 1)
	if err != nil {
		b.Fatal(err)
	}
	return c.c, (<-conns).c
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
