package copy

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Every field of the JSON has its line in docs/json.md.
func TestEveryFieldIsDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(raw), "\n## copy\n")
	if !ok {
		t.Fatal("docs/json.md has no section copy")
	}
	part, _, _ = strings.Cut(part, "\n## ")
	n := 0
	var look func(t reflect.Type)
	look = func(x reflect.Type) {
		for x.Kind() == reflect.Slice || x.Kind() == reflect.Pointer {
			x = x.Elem()
		}
		if x.Kind() != reflect.Struct {
			return
		}
		for i := range x.NumField() {
			name, _, _ := strings.Cut(x.Field(i).Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			n++
			if !strings.Contains(part, "`"+name+"`") && !strings.Contains(part, "."+name+"`") && !strings.Contains(part, "`"+name+"[]`") {
				t.Errorf("docs/json.md does not say what %q is", name)
			}
			look(x.Field(i).Type)
		}
	}
	look(reflect.TypeFor[Result]())
	if n < 30 {
		t.Errorf("only %d fields were looked for", n)
	}
}
