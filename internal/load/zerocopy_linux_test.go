package load

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// told is a message of the error queue as the kernel makes it.
func told(origin, code uint8, first, last uint32) []byte {
	e := make([]byte, 16)
	e[4], e[6] = origin, code
	binary.NativeEndian.PutUint32(e[8:], first)
	binary.NativeEndian.PutUint32(e[12:], last)
	b := make([]byte, unix.CmsgSpace(len(e)))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.SOL_IP, unix.IP_RECVERR
	h.SetLen(unix.CmsgLen(len(e)))
	copy(b[unix.CmsgLen(0):], e)
	return b
}

func TestZeroCopyCompletions(t *testing.T) {
	z := zeroCopies{sent: 10}
	for _, m := range [][]byte{
		told(unix.SO_EE_ORIGIN_ZEROCOPY, 0, 0, 3), told(unix.SO_EE_ORIGIN_ZEROCOPY, unix.SO_EE_CODE_ZEROCOPY_COPIED, 4, 5),
		told(unix.SO_EE_ORIGIN_ICMP, 0, 0, 100), nil,
	} {
		if err := z.note(m); err != nil {
			t.Fatal(err)
		}
	}
	if z.done != 6 || z.copied != 2 {
		t.Errorf("%+v, want 6 done, 2 of them copied", z)
	}
	// The numbers of sends wrap.
	if err := z.note(told(unix.SO_EE_ORIGIN_ZEROCOPY, 0, 1<<32-1, 0)); err != nil || z.done != 8 {
		t.Errorf("%v: %+v", err, z)
	}
	if err := z.note(told(unix.SO_EE_ORIGIN_ZEROCOPY, 0, 0, 5)); err == nil {
		t.Error("more sends were told the end of than were out")
	}
}

func FuzzZeroCopyCompletions(f *testing.F) {
	f.Add(told(unix.SO_EE_ORIGIN_ZEROCOPY, 1, 0, 3))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		z := zeroCopies{sent: 10}
		_ = z.note(b) // what it cannot read it says
		if z.done < 0 || z.done > z.sent || z.copied > z.done {
			t.Errorf("%+v", z)
		}
	})
}

// On loopback the kernel copies every send, and says so; nothing is lost.
func TestZeroCopyOnLoopback(t *testing.T) {
	sink, source := testSpec(Sink), testSpec(Source)
	source.ZeroCopy = true
	k := startWorker(t, sink, defaultLimits())
	source.Peer = k.want(Listening).Addr
	s := startWorker(t, source, defaultLimits())
	s.want(Connected)
	k.want(Connected)
	k.begin()
	s.begin()
	k.want(Started)
	s.want(Started)
	got, sent := k.want(Finished).Result, s.want(Finished).Result
	if got == nil || sent == nil || got.Bytes == 0 {
		t.Fatalf("received %+v, sent %+v", got, sent)
	}
	for i, st := range sent.Streams {
		if st.ZeroSends == 0 || st.ZeroCopied != st.ZeroSends {
			t.Errorf("stream %d: %+v, want all sends told of as copied", i, st)
		}
	}
	if got.Bytes > sent.Bytes || sent.Bytes-sent.Unacked-got.Bytes > got.RecvSpace {
		t.Errorf("sent %d, not acknowledged %d, received %d", sent.Bytes, sent.Unacked, got.Bytes)
	}
}
