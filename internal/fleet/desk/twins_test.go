package desk

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"linerate/internal/fleet"
)

// Two agents with one identity are shown while both run; one that was started anew is none of them.
func TestTwinsAreShown(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d, err := Open(filepath.Join(t.TempDir(), "lab"), "lab", servers, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.book.apply(change{Host: &Host{ID: "x", Name: "nas1"}})
	both := []string{"a, boot of a", "b, boot of b"}
	for i, c := range []struct {
		agent string
		want  []string
	}{
		{"a", nil}, {"a", nil}, {"b", nil}, {"b", nil}, // b may be a's next start
		{"a", both}, {"b", both}, {"b", both},
		{"", both}, {"", both}, {"b", nil}, // a was stopped
	} {
		now = now.Add(fleet.LiveTime)
		if c.agent == "" {
			continue
		}
		d.live(fleet.Word{ID: "x", Agent: c.agent, At: now, Event: "live", About: map[string]string{"boot": "of " + c.agent}})
		if got := d.Hosts()[0].Twins; !slices.Equal(got, c.want) {
			t.Errorf("word %d, of %s: %v, want %v", i, c.agent, got, c.want)
		}
	}
	for n := range 3 * mostEarlier {
		d.live(fleet.Word{ID: "x", Agent: string(rune('A' + n)), At: now})
	}
	if x := d.heard["x"]; len(x.earlier) != mostEarlier || len(x.twins) > 0 && now.Sub(x.twinsAt) == 0 {
		t.Errorf("%d earlier agents, %v", len(x.earlier), x.twins)
	}
}

// A host that is cut off is shown as silent since it was last heard, and is there again when it is
// heard again; one that said that it ends has ended.
func TestHostThatIsCutOff(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d, err := Open(filepath.Join(t.TempDir(), "lab"), "lab", servers, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.book.apply(change{Host: &Host{ID: "x", Name: "nas1"}})
	if h := d.Hosts()[0]; h.Here || !h.Heard.IsZero() {
		t.Errorf("never heard: %+v", h)
	}
	live := fleet.Word{ID: "x", Agent: "a", Event: "live"}
	d.live(live)
	heard := now
	for _, step := range []struct {
		after time.Duration
		here  bool
	}{{Silent, true}, {time.Second, false}, {time.Hour, false}} {
		now = now.Add(step.after)
		if h := d.Hosts()[0]; h.Here != step.here || !h.Heard.Equal(heard) || h.Ended {
			t.Errorf("%v later: %+v", now.Sub(heard), h)
		}
	}
	d.live(live)
	if h := d.Hosts()[0]; !h.Here || !h.Heard.Equal(now) {
		t.Errorf("heard again: %+v", h)
	}
	d.happened(fleet.Word{ID: "x", Agent: "a", Seq: 1, Event: "ended"})
	if h := d.Hosts()[0]; h.Here || !h.Ended {
		t.Errorf("it ended: %+v", h)
	}
}
