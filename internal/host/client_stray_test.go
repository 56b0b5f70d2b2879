package host

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"linerate/internal/host/delta"
)

// joined is a connection to an agent that is part of the test.
type joined struct {
	io.Reader
	io.WriteCloser
	gone chan struct{}
}

func (j joined) Wait() error { <-j.gone; return nil }

// joinedTo dials an agent that answers a request with what answer gives, and may say more by itself.
func joinedTo(t *testing.T, answer func(method string, params json.RawMessage, say func(string)) string) *Client {
	t.Helper()
	ep := Endpoint{Name: "server1", Join: func(context.Context) (Stream, error) {
		in, to := io.Pipe()
		out, from := io.Pipe()
		gone := make(chan struct{})
		say := func(line string) { _, _ = io.WriteString(from, line+"\n") } // an error: nobody reads any more
		go func() {
			defer close(gone)
			defer from.Close()
			for lines := bufio.NewScanner(in); lines.Scan(); {
				var r struct {
					ID     json.RawMessage
					Method string
					Params json.RawMessage
				}
				if json.Unmarshal(lines.Bytes(), &r) != nil {
					return
				}
				say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, answer(r.Method, r.Params, say)))
			}
		}()
		return joined{out, to, gone}, nil
	}}
	c, err := Dial(t.Context(), ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// An agent that sends samples which nobody asked for, as one does to which a start came late, is told to
// stop.
func TestASamplingThatNobodyKnowsIsEnded(t *testing.T) {
	var pack delta.Writer
	b, err := pack.Pack([][]byte{[]byte(`{"v":1}`)}, true)
	if err != nil {
		t.Fatal(err)
	}
	sample, err := json.Marshal(batchPush{ID: 7, Count: 1, Fresh: true, Bytes: b.Bytes, Data: b.Data})
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan string, 100)
	c := joinedTo(t, func(method string, params json.RawMessage, say func(string)) string {
		switch method {
		case "hello":
			return fmt.Sprintf(`{"protocol":%d,"build":"t","boot_id":"b","uid":0,"os":"linux","arch":"amd64","capabilities":[],"clock":"2026-11-26T12:00:00Z"}`, Protocol)
		case "journal.history":
			for range 5 {
				say(`{"jsonrpc":"2.0","method":"samples","params":` + string(sample) + `}`)
			}
			return `[]`
		case "sample.stop":
			stopped <- string(params)
			return `{"count":5}`
		}
		return `{}`
	})
	if _, err := c.History(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-stopped:
		if got != `{"id":7}` {
			t.Errorf("stopped %s, want 7", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is stopped")
	}
}
