package loop

import (
	"strings"
	"testing"

	"linerate/internal/explain"
	"linerate/internal/model"
)

// A connection that does not come up ends in a verdict, not in an error, and
// what the rungs of the link lack is said.
func TestClimbWithoutAConnection(t *testing.T) {
	for _, tt := range []struct {
		name      string
		how, back model.Refusal
		want      model.LimiterID
		asked     bool // the other way was tried
	}{
		{"silence both ways", model.Unanswered, model.Unanswered, model.Outage, true},
		{"silence one way", model.Unanswered, "", model.ConnectionRefused, true},
		{"refused", model.Refused, model.Refused, model.ConnectionRefused, true},
		{"no route", model.NoRoute, model.NoRoute, model.Outage, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, said := climbing(&world{value: original, unreached: tt.how, unreachedBack: tt.back}, nil)
			rec, err := c.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			v := rec.Results.Verdict
			if v.Limiter != tt.want || !strings.Contains(v.Line, recvAddr.String()) || len(v.Evidence) == 0 || v.Fix.Advice == "" {
				t.Errorf("%+v", v)
			}
			if asked := strings.Contains(strings.Join(*said, "\n"), "the other way"); asked != tt.asked {
				t.Errorf("tried the other way: %v", asked)
			}
			for _, name := range []string{explain.RungStream, explain.RungStreams, explain.RungReverse} {
				if r := rungNamed(t, rec.Results, name); r.Seen || !r.Tried || !strings.Contains(r.How, "as told") {
					t.Errorf("%+v", r)
				}
			}
			if !rungNamed(t, rec.Results, explain.RungMemory).Seen {
				t.Error("memory is not seen")
			}
		})
	}
}

// Where only this connection is refused, the mount that is there is read all the
// same; a mount whose server is gone is let alone.
func TestMountBehindARefusal(t *testing.T) {
	for how, seen := range map[model.Refusal]bool{model.Refused: true, model.Unanswered: false} {
		w := &world{value: original, mounts: []model.Mount{nfsMount}, unreached: how, unreachedBack: how}
		c, _ := climbing(w, &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas"})
		rec, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r := rungNamed(t, rec.Results, explain.RungWhole); r.Seen != seen {
			t.Errorf("%s: %+v", how, r)
		}
	}
}

// The same of the loop without a ladder.
func TestLoopWithoutAConnection(t *testing.T) {
	l := newLoop(&world{value: original, unreached: model.Refused, unreachedBack: model.Refused})
	told := false
	l.Report = func(model.Verdict) { told = true }
	rec, err := l.Run(t.Context())
	if err != nil || rec.Results.Verdict.Limiter != model.ConnectionRefused || !rec.Results.Restored || !told || len(rec.Results.Ladder) != 9 {
		t.Errorf("%v: %+v", err, rec.Results)
	}
}

func TestUnrouted(t *testing.T) {
	c, _ := climbing(&world{value: original}, nil)
	rec, err := c.Unrouted(t.Context(), recvAddr)
	if err != nil || rec.Results.Verdict.Limiter != model.Outage || !strings.Contains(rec.Results.Verdict.Line, "no route") || len(rec.Results.Ladder) != 9 {
		t.Errorf("%v: %s", err, rec.Results.Verdict.Line)
	}
}
