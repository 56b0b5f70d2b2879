package guide

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel/golden"
)

// parse reads YAML and rejects unknown fields.
func parse[T any](b []byte) (T, error) {
	var v T
	err := yaml.NewDecoder(bytes.NewReader(b), yaml.DisallowUnknownField()).Decode(&v)
	return v, err
}

func inYAML[T any](t *testing.T, file string) T {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := parse[T](b)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// byHand is what is written by hand, in that order.
func byHand(t *testing.T) (settings []Setting, guides []Guide, conflicts []Conflict) {
	t.Helper()
	files, err := filepath.Glob("settings/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		settings = append(settings, inYAML[[]Setting](t, f)...)
	}
	if files, err = filepath.Glob("advice/*.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if filepath.Base(f) == "conflicts.yaml" {
			conflicts = inYAML[[]Conflict](t, f)
			continue
		}
		guides = append(guides, inYAML[Guide](t, f))
	}
	slices.SortStableFunc(guides, func(a, b Guide) int { return strings.Compare(a.Date, b.Date) })
	return settings, guides, conflicts
}

func TestBoundIsWhatIsWrittenByHand(t *testing.T) {
	settings, guides, conflicts := byHand(t)
	lines := make([]settingLine, len(settings))
	for i, s := range settings {
		lines[i] = settingLine{s, s.Judge}
	}
	for name, want := range map[string]string{
		boundSettings: jsonl(t, lines), boundGuides: jsonl(t, guides), boundConflicts: jsonl(t, conflicts),
	} {
		if golden.Update() {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if string(text(name)) != want {
			t.Errorf("%s is older than the YAML: go test ./internal/guide -run TestBound -update", name)
		}
	}
	if golden.Update() {
		return
	}
	if d := cmp.Diff(settings, All()); d != "" {
		t.Errorf("settings (-by hand +bound):\n%s", d)
	}
	if d := cmp.Diff(guides, Guides()); d != "" {
		t.Errorf("guides (-by hand +bound):\n%s", d)
	}
	if d := cmp.Diff(conflicts, Conflicts()); d != "" {
		t.Errorf("conflicts (-by hand +bound):\n%s", d)
	}
	for _, s := range settings {
		if got, ok := Find(s.ID); !ok || !cmp.Equal(got, s) {
			t.Errorf("Find(%s): %v, %s", s.ID, ok, cmp.Diff(s, got))
		}
	}
}

func jsonl[T any](t *testing.T, entries []T) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, v := range entries {
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestFindKnowsNoOther(t *testing.T) {
	for _, id := range []string{"", "linux", "linux.sysctl.net.ipv4.tcp_rme", "linux.sysctl.net.ipv4.tcp_rmem ", `x","title":"`} {
		if s, ok := Find(id); ok {
			t.Errorf("Find(%q): %s", id, s.ID)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"- id: a\n  tilte: b\n", "id: a\n", "- [\n"} {
		if got, err := parse[[]Setting]([]byte(text)); err == nil {
			t.Errorf("%q: %+v and no error", text, got)
		}
	}
}
