package tune

import (
	"encoding/json"
	"errors"
	"testing"
)

// A record of what waits is whole, or says that it is damaged, which means undo.
func FuzzParseWaiting(f *testing.F) {
	b, err := json.Marshal(Waiting{V: waitingVersion, Plan: "p1", BootID: "b", PID: 9, Turn: 1, Within: 1e9})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("{}"))
	f.Add([]byte(`{"v":1,"plan":"p","within_ns":-9223372036854775808}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := parseWaiting(b, "deadman.json")
		if err != nil && !errors.Is(err, ErrRecord) {
			t.Errorf("%q: %v", b, err)
		}
		if err != nil {
			return
		}
		again, err := json.Marshal(w)
		if err != nil {
			t.Fatalf("%q: %v", b, err) // such as a year that JSON cannot say
		}
		if now, err := parseWaiting(again, "deadman.json"); err != nil || now.Plan != w.Plan || now.Within != w.Within || !now.Deadline.Equal(w.Deadline) {
			t.Errorf("%q comes back as %q (%v)", b, again, err)
		}
	})
}
