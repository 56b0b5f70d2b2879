package explain

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// Tests of what was wrong once, which docs/accuracy.md lists, where the tests of the part itself
// did not hold it.

// Who has much has little to say: a connection that is full votes with next to nothing, however
// much it moved, and one that lacks most of its share with what it lacks.
func TestVotesByWhatIsMissing(t *testing.T) {
	conn := func(rate float64, wants bool) *scene {
		s := &scene{c: &views{flows: make([]flow, 2)}, ceiling: 800e6, snd: &sndView{last: &model.Conn{}, rate: rate}}
		s.bytes = rate
		for range 5 {
			o := obs{c: &model.Conn{}}
			if wants {
				o.c.NotSent = 1 << 20
			}
			s.flow.snd = append(s.flow.snd, o)
		}
		return s
	}
	full, poor, idle := conn(400e6, true), conn(10e6, true), conn(10e6, false)
	for _, tt := range []struct {
		name string
		s    *scene
		all  []*scene
		want float64
	}{
		{"a full one of two", full, []*scene{full, poor}, leastVote * 400e6},
		{"a poor one of two", poor, []*scene{full, poor}, 390e6},
		{"one that nobody asks for more", idle, []*scene{full, idle}, 10e6},
	} {
		if got := tt.s.vote(tt.all); math.Abs(got-tt.want) > 1 {
			t.Errorf("%s: votes with %.0f, want %.0f", tt.name, got, tt.want)
		}
	}
}

// Cables are looked at for losses that come one by one, never for those that come many at a time.
func TestAdviceFollowsThePattern(t *testing.T) {
	at := func(n int, when ...int) func(int) int {
		return func(i int) int {
			if slices.Contains(when, i) {
				return n
			}
			return 0
		}
	}
	for _, tt := range []struct {
		name   string
		k      func(int) int
		cables bool
		says   string
	}{
		{"one by one", at(1, 3, 9, 14, 22, 31, 33), true, "one by one"},
		{"many at a time", at(20, 5, 25), false, "many at a time"},
		{"neither", at(4, 3, 9, 17, 25, 33), true, "where a queue overflows"},
	} {
		s := &scene{snd: viewSender(retransmitting(40, tt.k, nil), span{to: time.Minute}, 20*time.Millisecond)}
		if got := lossAdvice(s); strings.Contains(got, "cables") != tt.cables || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	for _, name := range []string{"smallq50.cubic", "burst20.cubic", "burst300.cubic"} {
		if v := Judge(readRecording(t, name)); strings.Contains(v.Fix.Advice, "cables") || !strings.Contains(v.Fix.Advice, "many at a time") {
			t.Errorf("%s: %q", name, v.Fix.Advice)
		}
	}
}

// A line rate without end is none: there is no ceiling then, and the verdict can be printed.
func TestLineRateWithoutEnd(t *testing.T) {
	for _, rate := range []float64{math.Inf(1), math.NaN(), math.Inf(-1), 0} {
		c := knobs{}.build()
		c.LineRate = model.Known(bitRate(rate))
		v := Judge(c)
		raw, err := json.Marshal(v)
		if err != nil || v.Ceiling != nil || v.ShareOfCeiling != nil || v.Limiter == model.None || strings.Contains(v.Line, "Inf") || strings.Contains(v.Line, "NaN") {
			t.Errorf("%v: %v %s %s", rate, err, v.Line, raw)
		}
		if l := Ceiling(c); l.Rate != nil || !strings.Contains(l.Formula, "line rate not known") {
			t.Errorf("%v: ceiling %v by %s", rate, l.Rate, l.Formula)
		}
	}
}
