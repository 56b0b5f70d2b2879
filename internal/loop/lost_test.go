package loop

import (
	"context"
	"strings"
	"testing"

	"linerate/internal/model"
)

// What a lab lost of its own accord is asked for after the last run that the verdict rests on, and
// caps a verdict on the path, however it came about.
func TestLossesOfALabReachTheVerdict(t *testing.T) {
	loop := func(w *world, lost func(context.Context) []string) (*Record, error) {
		l := newLoop(w)
		l.Prove, l.Lost = false, lost
		return l.Run(t.Context())
	}
	climb := func(w *world, lost func(context.Context) []string) (*Record, error) {
		c, _ := climbing(w, nil)
		c.Lost = lost
		return c.Run(t.Context())
	}
	lossy, silent := world{value: original, lossy: true}, world{value: original, unreached: model.Unanswered, unreachedBack: model.Unanswered}
	for _, tt := range []struct {
		name string
		run  func(*world, func(context.Context) []string) (*Record, error)
		w    *world
		want model.LimiterID
	}{
		{"a pass", loop, &lossy, model.PathQueue},
		{"a pass without a connection", loop, &silent, model.Outage},
		{"a climb", climb, &lossy, model.PathQueue},
		{"a climb without a connection", climb, &silent, model.Outage},
	} {
		for _, text := range []string{"", "the links lost 7 frames"} {
			last := 0
			rec, err := tt.run(tt.w, func(context.Context) []string {
				tt.w.mu.Lock()
				defer tt.w.mu.Unlock()
				if last = tt.w.calls; text == "" {
					return nil
				}
				return []string{text}
			})
			if err != nil {
				t.Fatal(err)
			}
			v := rec.Results.Verdict
			said := strings.Contains(strings.Join(v.Notes, "; "), "lost 7 frames")
			if v.Limiter != tt.want || said != (text != "") || (v.Confidence > 0.45) == said {
				t.Errorf("%s, %q: %.2f %s; notes %q", tt.name, text, v.Confidence, v.Line, v.Notes)
			}
			if last == 0 || last < tt.w.calls {
				t.Errorf("%s: it was asked after call %d of %d", tt.name, last, tt.w.calls)
			}
		}
	}
}
