package explain

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
)

// blindMost is the share of the recordings whose limiter the engine does not know
// that may be blamed on another one with confidence.
const blindMost = 0.05

// TestBlind: an engine that does not know the limiter of a recording does not blame
// another one with confidence, whichever views it has.
func TestBlind(t *testing.T) {
	labels := allLabels(t)
	for name, view := range map[string]func(Case) Case{
		"whole":         func(c Case) Case { return c },
		"sender only":   func(c Case) Case { c.Receiver = nil; return c },
		"receiver only": func(c Case) Case { c.Sender = nil; return c },
		"no line rate":  func(c Case) Case { c.LineRate = model.Fact[bitRate]{}; return c },
	} {
		t.Run(name, func(t *testing.T) { blindly(t, labels, view) })
	}
}

func blindly(t *testing.T, labels []label, view func(Case) Case) {
	wrong, honest, none, n := 0, 0, 0, 0
	for _, l := range labels {
		c := view(recorded(t, l.Name))
		if slices.Contains(l.Want, model.None) || c.Sender == nil && c.Receiver == nil {
			continue
		}
		n++
		switch v := JudgeWithout(c, l.Want...); {
		case v.Limiter == model.None:
			none++
			t.Logf("%s without %s: none", l.Name, l.Want)
		case v.Limiter == model.Undetermined || v.Confidence < 0.5:
			honest++
		default:
			if v.Confidence >= 0.7 {
				wrong++
			}
			t.Logf("%s without %s: %.2f %s", l.Name, l.Want, v.Confidence, v.Line)
		}
	}
	t.Logf("%d cases: %d confidently wrong, %d honest, %d called none", n, wrong, honest, none)
	if float64(wrong) > blindMost*float64(n) {
		t.Errorf("%d of %d confidently wrong, want at most %.0f%%", wrong, n, 100*blindMost)
	}
}

// allLabels are those of the recordings in folders below, too.
func allLabels(t testing.TB) []label {
	t.Helper()
	out := readLabels(t)
	for _, dir := range []string{"cases", "storage", "mixed"} {
		for _, l := range readLabelsIn(t, filepath.Join(recordings, dir)) {
			l.Name = dir + "/" + l.Name
			out = append(out, l)
		}
	}
	return out
}

// Who watches as root is not told to do so: the connections of a mount are the kernel's for root too.
func TestRootIsNotToldToWatchAsRoot(t *testing.T) {
	samples := []model.Sample{{CPUs: []model.CPUTime{{}}}, {CPUs: []model.CPUTime{{}}}}
	for uid, want := range map[int]string{0: "with top whether the program that copies fills a core", 1000: "watch as root"} {
		e := &End{Host: "a", Facts: &model.Facts{UID: uid}, Samples: samples}
		blind := blindAt(e)
		i := slices.IndexFunc(blind, func(b model.Blind) bool { return strings.HasPrefix(b.What, "the tasks") })
		if i < 0 || !strings.Contains(blind[i].How, want) || uid == 0 && strings.Contains(blind[i].How+e.seeTasks("the reader"), "as root") {
			t.Errorf("uid %d: %+v", uid, blind)
		}
	}
}
