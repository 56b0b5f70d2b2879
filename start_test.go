package linerate

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Rooms whose regular expressions every start of linerate would compile, whatever it is asked for: half of
// the memory that its packages took at their start. In these each is compiled when it is first used.
var compiledLate = []string{"app/tune", "fleet", "host", "store", "study/file", "systems/frame", "tune/file", "tune/profile", "tune/script"}

func TestNoStartCompilesWhatItDoesNotNeed(t *testing.T) {
	early := regexp.MustCompile(`(?m)^(var |\t)\w+ *= regexp\.MustCompile\(`)
	for _, room := range compiledLate {
		files, err := filepath.Glob(filepath.Join("internal", filepath.FromSlash(room), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", room, len(files), err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "_test.go") && early.Match(b) {
				t.Errorf("%s compiles a regular expression at the start: give it to sync.OnceValue", f)
			}
		}
	}
}
