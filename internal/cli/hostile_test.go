package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"linerate/internal/report/document"
)

// planted is what a hostile host or bundle has in its texts: an escape sequence, C0 and C1
// controls, what turns the direction of writing, what cannot be seen, and a newline before
// words as only linerate should say them.
const planted = "\x1b[2J\u009b31m\a\b\r\u202e\u2066\u200b\nlinerate: FORGED\n"

// looked checks what a command printed.
func looked(t *testing.T, command string, streams ...string) {
	t.Helper()
	for _, text := range streams {
		for i, r := range text {
			if r != '\n' && r != '\t' && document.Harmful(r) {
				t.Errorf("%s: %q got through: …%q", command, r, text[max(0, i-80):min(len(text), i+20)])
				break
			}
		}
		for line := range strings.Lines(text) {
			// A browser makes a blank of a newline.
			if !strings.Contains(text, "</html>") && strings.HasPrefix(line, "linerate: FORGED") {
				t.Errorf("%s: a foreign line looks like ours:\n%s", command, text)
			}
		}
	}
}

// meant are texts that a reader of bundles and answers takes for more than a text; other
// words in their place are refused, which says nothing about what is printed.
var meant = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT.*|[0-9a-f:.]+(/\d+)?|[0-9a-f]{16,}|linux|amd64|)$`)

// plant puts the planted text behind every text of a JSON value but those at keys of keep.
func plant(v any, keep func(key, text string) bool, key string) any {
	switch v := v.(type) {
	case string:
		if meant.MatchString(v) || keep(key, v) {
			return v
		}
		return v + planted
	case []any:
		for i := range v {
			v[i] = plant(v[i], keep, key)
		}
	case map[string]any:
		for k := range v {
			v[k] = plant(v[k], keep, k)
		}
	}
	return v
}

// poisoned is a copy of a bundle with the planted text in its results and facts, whose
// manifest agrees with them, as a forger's does.
func poisoned(t *testing.T, from, to string, keep func(key, text string) bool) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	read := func(name string, v any) {
		b, err := os.ReadFile(filepath.Join(to, name))
		if err == nil {
			err = json.Unmarshal(b, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, v any) []byte {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var m map[string]any
	read("manifest.json", &m)
	for _, f := range m["files"].([]any) {
		f := f.(map[string]any)
		name := f["name"].(string)
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		var v any
		read(name, &v)
		b := write(name, plant(v, keep, ""))
		sum := sha256.Sum256(b)
		f["size"], f["sha256"] = len(b), hex.EncodeToString(sum[:])
	}
	write("manifest.json", m)
}

// A bundle from a stranger, in whose every text something is planted, is printed by every
// command that reads bundles as text alone.
func TestHostileBundleIsTextAlone(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	never := func(key, _ string) bool { return key == "state" } // other words are refused
	var dirs []string
	for i, from := range fixtures(t) {
		name := filepath.Base(from)
		if i == 0 && runtime.GOOS == "linux" {
			name += strings.ReplaceAll(planted, "\n", "\v\n") // a folder may be called anything there
		}
		to := filepath.Join(data, "linerate", "runs", name)
		poisoned(t, from, to, never)
		dirs = append(dirs, to)
	}
	shown := 0
	for _, dir := range dirs {
		for _, args := range [][]string{{}, {"--json"}, {"--format", "md"}, {"--format", "html"}, {"--format", "json"}, {"--format", "csv"}, {"--format", "csv", "--table", "nothing\n" + planted}, {"--format", "csv", "--table", "comparisons"}} {
			code, out, errs := typed(t, append([]string{"report", dir}, args...)...)
			if code == ExitOK {
				shown++
			} else {
				t.Logf("%q: %s", args, errs)
			}
			looked(t, fmt.Sprintf("report %q %q", dir, args), out, errs)
		}
		for _, other := range dirs {
			for _, form := range []string{"--json=false", "--json"} {
				_, out, errs := typed(t, "compare", dir, other, form)
				looked(t, "compare "+form, out, errs)
			}
		}
	}
	if shown < 4*len(dirs) {
		t.Errorf("%d reports of %d bundles were shown: the others are refused, and show nothing of what is planted", shown, len(dirs))
	}
	for _, args := range [][]string{{"runs"}, {"runs", "--json"}, {"study", "list"}, {"study", "list", "--json"}, {"report", "last"}, {"study", "show", "2026"}} {
		_, out, errs := typed(t, args...)
		looked(t, strings.Join(args, " "), out, errs)
		if args[0] == "runs" && !strings.Contains(out, "FORGED") {
			t.Errorf("%q shows none of what is planted:\n%s", args, out)
		}
	}
}
