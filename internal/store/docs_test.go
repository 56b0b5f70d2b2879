package store

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"linerate/internal/model"
)

// fields collects the JSON names of a type and of everything in it.
func fields(t reflect.Type, into map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		fields(t.Elem(), into)
	case reflect.Struct:
		if !strings.HasPrefix(t.PkgPath(), "linerate/") {
			return
		}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			if name != "" {
				into[name] = true
			}
			fields(f.Type, into)
		}
	}
}

// TestEveryFieldIsDocumented compares the pages with the types they describe.
func TestEveryFieldIsDocumented(t *testing.T) {
	for page, types := range map[string][]any{
		"json.md":   {model.Results{}, Summary{}},
		"bundle.md": {Manifest{}},
	} {
		raw, err := os.ReadFile("../../docs/" + page)
		must(t, err)
		said := map[string]bool{}
		for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(raw), -1) {
			for _, word := range regexp.MustCompile("[a-z0-9_]+").FindAllString(span, -1) {
				said[word] = true
			}
		}
		names := map[string]bool{}
		for _, v := range types {
			fields(reflect.TypeOf(v), names)
		}
		if len(names) < 5 {
			t.Fatalf("%s: found only %d fields", page, len(names))
		}
		for name := range names {
			if !said[name] {
				t.Errorf("docs/%s does not say what %q is", page, name)
			}
		}
	}
}
