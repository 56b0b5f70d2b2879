package fleet

import (
	"encoding/json"
	"sync/atomic"
	"testing"
)

func TestWithIDKeepsTheRest(t *testing.T) {
	id := json.RawMessage(`7`)
	for name, c := range map[string]struct{ in, want string }{
		"as agents write it": {`{"jsonrpc":"2.0","id":"r1","result":{"id":"r1"}}`, `{"jsonrpc":"2.0","id":7,"result":{"id":"r1"}}`},
		"an error":           {`{"jsonrpc":"2.0","id":"r1","error":{"code":1}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1}}`},
		"with blanks":        {`{ "jsonrpc":"2.0", "id":"r1","result":1}`, `{"jsonrpc":"2.0","id":7,"result":1}`},
		"over two lines":     {"{\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"result\":\n1}", `{"jsonrpc":"2.0","id":7,"result":1}`},
		"no answer":          {`[]`, ``},
	} {
		got := string(withID([]byte(c.in), "r1", id))
		if c.want == "" {
			var e struct {
				ID    int             `json:"id"`
				Error json.RawMessage `json:"error"`
			}
			if err := json.Unmarshal([]byte(got), &e); err != nil || e.ID != 7 || e.Error == nil {
				t.Errorf("%s: %s, %v", name, got, err)
			}
		} else if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What nobody takes is bounded, for a session and for all of them.
func TestInboxHasRoomForSoMuch(t *testing.T) {
	var all atomic.Int64
	m := message{frame: frame{body: make([]byte, 1<<20-messageCost)}}
	var full []*inbox
	for range maxHeld/maxInbox + 1 {
		b := newInbox(&all)
		for range maxInbox>>20 + 8 {
			b.put(m)
		}
		full = append(full, b)
	}
	for i, b := range full {
		want := maxInbox >> 20
		if i == len(full)-1 {
			want = 0 // the others have it all
		}
		if n := len(b.take()); n != want {
			t.Errorf("inbox %d has %d messages, want %d", i, n, want)
		}
	}
	if n := all.Load(); n != 0 {
		t.Errorf("%d bytes are counted when nothing waits", n)
	}
}
