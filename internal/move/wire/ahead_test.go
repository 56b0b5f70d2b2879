package wire

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestStreamsThatAreOpenedAheadAreTakenOrEnd(t *testing.T) {
	for name, plain := range map[string]bool{"tls": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			l, d := parties(t, plain)
			if _, err := d.Stream(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			var let [3]*Conn // without anybody at the other end asking for them
			for n := range let {
				var err error
				if let[n], err = l.Stream(t.Context(), uint32(n)); err != nil {
					t.Fatal(err)
				}
			}
			taken, err := d.Stream(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if err := taken.send(frame{kind: kindEnd}); err != nil {
				t.Fatal(err)
			}
			if k, _, _, err := let[1].receive(); k != kindEnd || err != nil {
				t.Errorf("the stream that was taken: kind %d, %v", k, err)
			}
			if _, _, _, err := let[2].receive(); err == nil {
				t.Error("the stream that nobody took goes on")
			}
		})
	}
}

func TestNoStreamIsOpenedAheadWhereThePortIsNotReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr).AddrPort()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, k := keysOf(t, true)
	d := &Dialler{Keys: k, Connect: To(at, netip.Addr{}), Ahead: 4}
	var not *UnreachedError
	if _, err := d.Stream(t.Context(), 0); !errors.As(err, &not) {
		t.Errorf("%v, want an UnreachedError", err)
	}
	if d.cancel != nil {
		t.Error("streams were begun ahead")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
