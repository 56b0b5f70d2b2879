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
