package explain

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	b, err := os.ReadFile(filepath.Join(recordings, "labels.json"))
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

// TestReplay judges every recording with both ends seen. At least 95% must be
// right, and no healthy path may raise an alarm.
func TestReplay(t *testing.T) {
	labels := readLabels(t)
	wrong := 0
	for _, l := range labels {
		v := Judge(readRecording(t, l.Name))
		if os.Getenv("SHOW") != "" {
			fmt.Printf("%-22s %-18s %.2f %s\n", l.Name, v.Limiter, v.Confidence, v.Line)
		}
		if l.right(v) {
			continue
		}
		wrong++
		t.Logf("%s (%s): want %v, got %s (%.2f): %s", l.Name, l.Why, l.Want, v.Limiter, v.Confidence, v.Line)
		if slices.Contains(l.Want, model.None) {
			t.Errorf("false alarm on %s", l.Name)
		}
	}
	if share := 1 - float64(wrong)/float64(len(labels)); share < 0.95 {
		t.Errorf("%d of %d wrong: %.1f%% right, want 95%%", wrong, len(labels), share*100)
	}
}

// confusion prints what each view of the recordings makes of each label.
func confusion(t *testing.T, view func(Case) Case) (sureAndWrong []string) {
	t.Helper()
	counts := map[string]int{}
	for _, l := range readLabels(t) {
		v := Judge(view(readRecording(t, l.Name)))
		counts[fmt.Sprintf("%s → %s", l.Want[0], v.Limiter)]++
		if !l.right(v) && v.Limiter != model.Undetermined && v.Confidence >= 0.7 {
			sureAndWrong = append(sureAndWrong, fmt.Sprintf("%s: %s (%.2f) %s", l.Name, v.Limiter, v.Confidence, v.Line))
		}
	}
	for _, k := range sortedKeys(counts) {
		t.Logf("%3d  %s", counts[k], k)
	}
	return sureAndWrong
}

// TestReplayOneSided takes away one end, or the line rate: the verdict may
// get narrower, but never both confident and wrong.
func TestReplayOneSided(t *testing.T) {
	for name, view := range map[string]func(Case) Case{
		"sender only":   func(c Case) Case { c.Receiver = nil; return c },
		"receiver only": func(c Case) Case { c.Sender = nil; return c },
		"no line rate":  func(c Case) Case { c.LineRate = model.Fact[bitRate]{}; return c },
		"no tasks":      withoutTasks,
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			for _, s := range confusion(t, view) {
				t.Error(s)
			}
		})
	}
}
