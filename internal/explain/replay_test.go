package explain

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/model"
)

const recordings = "../../testdata/recordings"

// label is what a recording was made with.
type label struct {
	Name      string            `json:"name"`
	Want      []model.LimiterID `json:"want"`
	Ambiguous bool              `json:"ambiguous"` // an alternative, or undetermined, is right too
	Why       string            `json:"why"`
}

type recording struct {
	V    int    `json:"v"`
	Name string `json:"name"`
	Case Case   `json:"case"`
}

func readLabels(t testing.TB) []label {
	t.Helper()
	return readLabelsIn(t, recordings)
}

func readLabelsIn(t testing.TB, dir string) []label {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "labels.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []label
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func readRecording(t testing.TB, name string) Case {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, name+".json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	raw, err := d.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r.Case
}

// recorded is a recording that many tests judge and none changes: it takes longer to decode one than to
// judge it.
func recorded(t testing.TB, name string) Case {
	t.Helper()
	decoding.Lock()
	defer decoding.Unlock()
	c, ok := decoded[name]
	if !ok {
		c = readRecording(t, name)
		decoded[name] = c
	}
	return c
}

var (
	decoding sync.Mutex
	decoded  = map[string]Case{}
)

// Judge is pure: what it was given is as it was.
func TestJudgeLeavesItsCaseAlone(t *testing.T) {
	for _, l := range allLabels(t) {
		c := recorded(t, l.Name)
		Judge(c)
		JudgeWithout(c, l.Want...)
		if !reflect.DeepEqual(c, readRecording(t, l.Name)) {
			t.Errorf("%s was changed by those who judge it", l.Name)
		}
	}
}

// right tells whether a verdict fits a label. Undetermined, or a right
// alternative, counts only where the label says the signature is not unique.
func (l label) right(v model.Verdict) bool {
	if slices.Contains(l.Want, v.Limiter) {
		return true
	}
	if !l.Ambiguous {
		return false
	}
	return slices.ContainsFunc(v.Alternatives, func(a model.Alternative) bool { return slices.Contains(l.Want, a.Limiter) })
}

// TestReplay judges every recording: whole, in part, and with views missing.
func TestReplay(t *testing.T) {
	cases := map[string]Case{}
	labels := readLabels(t)
	for _, l := range labels {
		cases[l.Name] = recorded(t, l.Name)
	}
	r := replay{labels, cases}
	t.Run("whole", r.whole)
	t.Run("in part", r.inPart)
	for name, view := range map[string]func(Case) Case{
		"sender only":   func(c Case) Case { c.Receiver = nil; return c },
		"receiver only": func(c Case) Case { c.Sender = nil; return c },
		"receiver only, no tasks": func(c Case) Case {
			c = withoutTasks(c)
			c.Sender = nil
			return c
		},
		"receiver only, no line rate": func(c Case) Case {
			c.Sender, c.LineRate = nil, model.Fact[bitRate]{}
			return c
		},
		"no line rate": func(c Case) Case { c.LineRate = model.Fact[bitRate]{}; return c },
		"no tasks":     withoutTasks,
	} {
		t.Run(name, func(t *testing.T) { r.narrowed(t, view) })
	}
}

type replay struct {
	labels []label
	cases  map[string]Case
}

// whole: both ends seen. At least 95% must be right, and no healthy path may
// raise an alarm.
func (r replay) whole(t *testing.T) {
	wrong := 0
	for _, l := range r.labels {
		c := r.cases[l.Name]
		v := Judge(c)
		checkVerdict(t, c, v)
		if l.right(v) {
			continue
		}
		wrong++
		t.Logf("%s (%s): want %v, got %s (%.2f): %s", l.Name, l.Why, l.Want, v.Limiter, v.Confidence, v.Line)
		if slices.Contains(l.Want, model.None) {
			t.Errorf("false alarm on %s", l.Name)
		}
	}
	t.Logf("%d of %d right", len(r.labels)-wrong, len(r.labels))
	if share := 1 - float64(wrong)/float64(len(r.labels)); share < 0.95 {
		t.Errorf("%.1f%% right, want 95%%", share*100)
	}
}

// inPart: from the middle, as a user who watches a running copy sees it, and
// short ones.
func (r replay) inPart(t *testing.T) {
	for _, p := range []struct{ from, to time.Duration }{
		{3 * time.Second, time.Minute}, {5 * time.Second, 7 * time.Second}, {0, 3 * time.Second}, {0, 5 * time.Second},
	} {
		wrong, n := 0, 0
		for _, l := range r.labels {
			if strings.HasPrefix(l.Name, "short") || strings.HasPrefix(l.Name, "qdisc") {
				continue // over before the part begins; totals only at the ends
			}
			n++
			if v := Judge(cut(r.cases[l.Name], p.from, p.to)); !l.right(v) {
				wrong++
				t.Logf("%v-%v %s: want %v, got %s (%.2f)", p.from, p.to, l.Name, l.Want, v.Limiter, v.Confidence)
			}
		}
		if share := 1 - float64(wrong)/float64(n); share < 0.9 {
			t.Errorf("%v-%v: %.0f%% right, want 90%%", p.from, p.to, share*100)
		}
	}
}

// narrowed: with a view missing the verdict may get narrower, but never both
// confident and wrong. It prints what becomes of each label.
func (r replay) narrowed(t *testing.T, view func(Case) Case) {
	counts := map[string]int{}
	for _, l := range r.labels {
		c := view(r.cases[l.Name])
		v := Judge(c)
		checkVerdict(t, c, v)
		counts[fmt.Sprintf("%s → %s", l.Want[0], v.Limiter)]++
		if strings.HasPrefix(l.Name, "mtubh_probe") && v.Limiter == model.None {
			continue // from the receiving end alone it is a healthy stream that began late
		}
		if !l.right(v) && v.Limiter != model.Undetermined && v.Confidence >= 0.7 {
			t.Errorf("%s: %s (%.2f) %s", l.Name, v.Limiter, v.Confidence, v.Line)
		}
	}
	for _, k := range sortedKeys(counts) {
		t.Logf("%3d  %s", counts[k], k)
	}
}
