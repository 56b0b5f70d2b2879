package tree

import (
	"strings"
	"testing"
)

func TestExcludes(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		dir, want  bool
	}{
		{"*.tmp", "a/b.tmp", false, true}, {"*.tmp", "a.tmp/b", false, false}, {"*.tmp", "\xff.tmp", false, true},
		{"/cache", "cache", true, true}, {"/cache", "a/cache", true, false}, {"cache/", "a/cache", true, true}, {"cache/", "a/cache", false, false},
		{"a/b", "x/a/b", false, true}, {"/a/*", "a/b", false, true}, {"/a/*", "a/b/c", false, false}, {"/a/**", "a/b/c", false, true},
		{"**/x", "x", false, true}, {"/a/**/x", "a/x", false, true}, {"/a/**/x", "a/b/c/x", false, true}, {"f?o", "f\xffo", false, true},
		{"[a-c]x", "bx", false, true}, {"[!a-c]x", "bx", false, false}, {`\*`, "*", false, true}, {`\*`, "a", false, false}, {"a.b", "axb", false, false},
		{"new\nline", "new\nline", false, true}, {"*", "new\nline", false, true}, {"[[]x", "[x", false, true}, {"ü*", "d/über", false, true},
		{"[[:digit:]]x", "1x", false, true}, {"[[:digit:]]x", ":x", false, false}, {"[![:digit:]]", "1", false, false}, {"[]x]", "]", false, true},
		{"[]x]", "y", false, false}, {"[!]x]", "]", false, false}, {"[a-]", "-", false, true}, {"[!-x]", "a", false, true}, {"[!-x]", "-", false, false}, {"[!-x]", "x", false, false}, {"[!-.]", "a", false, true}, {`[\]x]`, "]", false, true}, {"/a[!b]c", "a/c", false, false},
		{"a**b", "x/a/c/b", false, true}, {"a**b", "xa/c/b", false, false}, {"a/***", "x/a", true, true}, {"/a/***", "a/b/c", false, true}, {"/a/***", "ab", true, false},
		{`a\b`, `a\b`, false, true}, {`a\b`, "ab", false, false}, {`a\b*`, "abc", false, true}, {`a\`, `a\`, false, true},
	} {
		x, err := NewExcludes([]string{c.glob})
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Match(c.path, c.dir); got != c.want {
			t.Errorf("%q matches %q (directory %v): %v, want %v", c.glob, c.path, c.dir, got, c.want)
		}
	}
	for _, bad := range []string{"", "/", "[a", `*\`, "[]", `[\`, "[[:none:]]", "[z-a]"} {
		if _, err := NewExcludes([]string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// A glob is refused or matches in time that its length bounds; "*" of any path is the same
// answer for the path below another directory.
func FuzzExcludes(f *testing.F) {
	for _, s := range []string{"*.tmp", "/cache/", "a/**/x", "[!a-c]x", `\*`, "[[]x", "[z-a]", "**"} {
		f.Add(s, "a/b/c.tmp", false)
	}
	f.Fuzz(func(t *testing.T, glob, path string, dir bool) {
		x, err := NewExcludes([]string{glob})
		if err != nil {
			return
		}
		if x.Match(path, false) && !x.Match(path, true) {
			t.Errorf("%q leaves out the file %q and not the directory", glob, path)
		}
		if !strings.Contains(strings.TrimSuffix(glob, "/"), "/") && !strings.Contains(glob, "**") && x.Match(path, dir) != x.Match("d/"+path, dir) {
			t.Errorf("%q tells %q from d/%q", glob, path, path)
		}
	})
}
