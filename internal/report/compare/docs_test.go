package compare

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEveryFieldIsDocumented compares docs/json.md with Comparison.
func TestEveryFieldIsDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, ok := strings.Cut(string(raw), "## compare\n")
	if !ok {
		t.Fatal("docs/json.md has no section compare")
	}
	page, _, _ = strings.Cut(page, "\n## ")
	n := 0
	var walk func(reflect.Type)
	walk = func(x reflect.Type) {
		for x.Kind() == reflect.Pointer || x.Kind() == reflect.Slice {
			x = x.Elem()
		}
		if x.Kind() != reflect.Struct || !strings.HasSuffix(x.PkgPath(), "report/compare") {
			return
		}
		for f := range x.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "."+name+"`") && !strings.Contains(page, "`"+name+"[]`") {
				t.Errorf("docs/json.md does not say what %s of %s is", name, x.Name())
			}
			n++
			walk(f.Type)
		}
	}
	if walk(reflect.TypeFor[Comparison]()); n < 30 {
		t.Errorf("found only %d fields", n)
	}
	for _, c := range []string{Differ, MayDiffer, Equal, NotTold, NoInterval, NotSame, OneSide} {
		if !strings.Contains(page, "`"+c+"`") {
			t.Errorf("docs/json.md does not have the conclusion %q", c)
		}
	}
}
