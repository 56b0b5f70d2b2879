package linerate

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test that the threat model names is there, in the package that it names, and every
// kind of attacker has one.
func TestThreatModelNamesTests(t *testing.T) {
	text, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(internal/[a-z/]+): ((?:Test|Fuzz)[A-Za-z0-9]+)`")
	all := named.FindAllStringSubmatch(string(text), -1)
	if len(all) < 30 {
		t.Fatalf("%d tests are named", len(all))
	}
	for _, m := range all {
		files, err := filepath.Glob(m[1] + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(b), "\nfunc "+m[2]+"(")
		}
		if !found {
			t.Errorf("docs/security.md names %s of %s, which is not there", m[2], m[1])
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| Who ") && !named.MatchString(line) {
			t.Errorf("no test shows %s", line)
		}
	}
}
