package measure

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/model"
)

// guest is a party with a clock that is off, and a way to misbehave.
type guest struct {
	name    string
	off     time.Duration
	fails   string // "ready", "arm" or "late": it says nothing
	begins  time.Duration
	mu      sync.Mutex
	at      time.Time
	stopped bool
}

func (g *guest) Name() string { return g.name }
func (g *guest) Clock(context.Context) (model.Clock, error) {
	return model.Clock{Offset: g.off, Error: 100 * time.Microsecond}, nil
}
func (g *guest) Ready(ctx context.Context) error {
	switch g.fails {
	case "ready":
		return errors.New("no such file")
	case "never":
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}
func (g *guest) Arm(ctx context.Context, at time.Time) error {
	if g.fails == "arm" {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = at
	return nil
}
func (g *guest) Began(context.Context) (time.Time, error) { return g.at.Add(g.begins), nil }
func (g *guest) Stop(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	return nil
}

func TestTogether(t *testing.T) {
	now := time.Unix(1e9, 0)
	a := &guest{name: "a", off: 7 * time.Hour, begins: 2 * time.Millisecond}
	b := &guest{name: "b", off: -3 * time.Second}
	s, err := Together(t.Context(), []Party{a, b}, time.Minute, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	if !s.At.After(now) || !a.at.Equal(s.At.Add(a.off)) || !b.at.Equal(s.At.Add(b.off)) {
		t.Errorf("instant %v: a was told %v, b %v", s.At, a.at, b.at)
	}
	if s.Spread != 2*time.Millisecond || s.Error != 200*time.Microsecond || s.Began["a"] != 2*time.Millisecond || s.Began["b"] != 0 {
		t.Errorf("%+v", s)
	}
}

// Whoever does not come is named, alone, and the others are stopped before they
// begin.
func TestWhoDoesNotCome(t *testing.T) {
	for fails, want := range map[string]string{
		"ready": "nothing was started: b: no such file", "never": "nothing was started: b: it was not ready within 50ms",
		"arm": "nothing was started: b: it did not agree on the start within",
	} {
		a, b, c := &guest{name: "a"}, &guest{name: "b", fails: fails}, &guest{name: "c"}
		_, err := Together(t.Context(), []Party{a, b, c}, 50*time.Millisecond, time.Now)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a: ") || strings.Contains(err.Error(), "c: ") {
			t.Errorf("%s: %v", fails, err)
		}
		if !a.stopped || !b.stopped || !c.stopped {
			t.Errorf("%s: somebody was not stopped", fails)
		}
	}
	// Where readiness takes as long as it does, one that fails ends the wait.
	a, b := &guest{name: "a", fails: "never"}, &guest{name: "b", fails: "ready"}
	if _, err := Together(t.Context(), []Party{a, b}, 0, time.Now); err == nil || strings.Contains(err.Error(), "a: ") {
		t.Errorf("%v", err)
	}
}
