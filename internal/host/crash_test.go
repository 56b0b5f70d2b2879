package host

import (
	"bytes"
	"io"
	"testing"
)

type noCloser struct{ io.Writer }

func (noCloser) Close() error { return nil }

// A panic of what receives goes on, after what the controller has to do before: its terminal is given back.
func TestAPanicOfWhatReceivesIsToldFirst(t *testing.T) {
	told := false
	said := bytes.NewBufferString(`{"jsonrpc":"2.0","method":"samples","params":{}}` + "\n")
	b := newInbox(newLines(io.NopCloser(said), noCloser{io.Discard}), func(string, []byte) { panic("unforeseen") }, func(string) {}, func() {})
	b.crashed = func() { told = true }
	defer func() {
		if x := recover(); x != "unforeseen" || !told {
			t.Errorf("it ends with %v, told first: %v", x, told)
		}
	}()
	_, err := b.Recv()
	t.Errorf("it goes on: %v", err)
}
