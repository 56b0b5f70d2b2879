package move

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAPacerHoldsTheRate(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		after []time.Duration // since start
		wait  time.Duration   // of the last
	}{
		"the first goes at once":       {[]time.Duration{0}, 0},
		"each waits for those before":  {[]time.Duration{0, 0, 0}, 2 * time.Second},
		"late data are made up for":    {[]time.Duration{0, 1050 * time.Millisecond, 1900 * time.Millisecond}, 100 * time.Millisecond},
		"a pause of an hour is no due": {[]time.Duration{0, time.Hour, time.Hour}, time.Second - mostUnused},
	} {
		p := NewPacer(1000)
		var wait time.Duration
		for _, d := range tt.after {
			wait = p.take(start.Add(d), 1000)
		}
		if wait != tt.wait {
			t.Errorf("%s: the last waits %s, not %s", name, wait, tt.wait)
		}
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p := NewPacer(1)
	if err := errors.Join(p.Wait(ctx, 1<<30), NewPacer(0).Wait(ctx, 1<<30)); err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("stopped"))
	for _, p := range []*Pacer{p, nil} {
		if err := p.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a wait of years ends with %v", err)
		}
	}
}
