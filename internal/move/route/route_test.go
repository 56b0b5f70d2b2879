package route

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"linerate/internal/failure"
	"linerate/internal/move/tree"
)

func TestPathsMeanWhatTheyMeanToRsync(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"src/sub", "src/src", "dst"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "src", "in": "src/sub"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]struct {
		top tree.Top
		dir bool
	}{
		"src":       {tree.Top{Dir: ".", Name: "src", As: "src"}, true},
		"src/":      {tree.Top{Dir: "src"}, true},
		"src/.":     {tree.Top{Dir: "src"}, true},
		"src/sub/.": {tree.Top{Dir: filepath.Join("src", "sub")}, true},
		".":         {tree.Top{Dir: "."}, true},
		"src/..":    {tree.Top{Dir: "src/.."}, true},
		"./src//":   {tree.Top{Dir: "src"}, true},
		"in/../src": {tree.Top{Dir: "in/../", Name: "src", As: "src"}, true},
		"/":         {tree.Top{Dir: "/"}, true},
		"link":      {tree.Top{Dir: ".", Name: "link", As: "link"}, false},
		"link/":     {tree.Top{Dir: "link"}, true},
		"file":      {tree.Top{Dir: ".", Name: "file", As: "file"}, false},
	} {
		if s, err := SourceOf([]string{path}); err != nil || s.Tops[0] != want.top || s.Dirs[0] != want.dir || s.One() == want.dir {
			t.Errorf("%s: %+v, %v, want %+v", path, s, err, want)
		}
	}
	for _, path := range []string{"none", "file/", ""} {
		if _, err := SourceOf([]string{path}); failure.KindOf(err) != failure.Usage {
			t.Errorf("source %q: %v", path, err)
		}
	}
	if s, err := SourceOf([]string{"src", "file", "src/sub/", "link"}); err != nil || s.One() || !slices.Equal(s.Whole(), []string{"src", ""}) {
		t.Errorf("several: whole %q, %v", s.Whole(), err)
	}
	for _, c := range []struct {
		path string
		one  bool
		want Target
	}{
		{"dst", true, Target{Root: "dst"}},
		{"dst/", false, Target{Root: "dst/"}},
		{"new", true, Target{Root: ".", As: "new"}},
		{"new/", true, Target{Root: "new/", Missing: true}},
		{"new", false, Target{Root: "new", Missing: true}},
		{"file", true, Target{Root: ".", As: "file"}},
		{"in/../new", true, Target{Root: "in/../", As: "new"}},
	} {
		if got, err := TargetOf(c.path, c.one); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.path, got, err, c.want)
		}
	}
	if _, err := TargetOf("file", false); failure.KindOf(err) != failure.Usage {
		t.Errorf("several into a file: %v", err)
	}
	if err := os.Symlink(os.DevNull, "out"); err != nil {
		t.Fatal(err)
	}
	if _, err := TargetOf("out", true); failure.KindOf(err) != failure.Usage {
		t.Errorf("to a link to a device: %v", err)
	}
	for path, made := range map[string]bool{"new": true, "no/dir": false} {
		target, err := TargetOf(path, false)
		if err == nil {
			err = target.Make()
		}
		if _, there := os.Stat(path); (there == nil) != made || (err == nil) != made || !made && failure.KindOf(err) != failure.Usage {
			t.Errorf("%s: %v, %v", path, err, there)
		}
	}
}

func TestATargetIsNewWhereItHoldsNothingOfWhatIsCopied(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"empty", "full/src"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		root  string
		whole []string
		want  bool
	}{
		{"empty", []string{""}, true},
		{"empty", []string{"src", "other"}, true},
		{"empty", nil, false}, // what a file comes to lie as is not among the names
		{"full", []string{""}, false},
		{"full", []string{"other"}, true},
		{"full", []string{"other", "src"}, false},
		{"none", []string{""}, false},
	} {
		if got := New(filepath.Join(dir, c.root), c.whole); got != c.want {
			t.Errorf("%s, %q: %v", c.root, c.whole, got)
		}
	}
}

// Where a path leads is for the system to say: "link/.." is the directory above the link's target.
func TestDotsAfterALinkAreLeftToTheSystem(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("far/in", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("far/in", "link"); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"file": "near", "far/file": "far"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := SourceOf([]string{"link/../file"})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(s.Tops[0].Dir + "/" + s.Tops[0].Name); err != nil || string(b) != "far" {
		t.Errorf("%+v: %q, %v", s.Tops[0], b, err)
	}
	to, err := TargetOf("link/../new", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(to.Root + "/in"); err != nil || to.As != "new" {
		t.Errorf("%+v, %v", to, err)
	}
}
