// Package docstest holds what the program prints as JSON against docs/json.md, for the tests of
// the packages whose types those are. It knows names alone, not what is said about them.
package docstest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Section is the parts of docs/json.md below headings, each up to the next one of its level.
func Section(t *testing.T, headings ...string) (out string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "docs/json.md"))
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		page, err = os.ReadFile(filepath.Join(dir, "docs/json.md"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range headings {
		_, part, ok := strings.Cut(string(page), "\n## "+heading+"\n")
		if !ok {
			t.Fatalf("docs/json.md has no section %s", heading)
		}
		part, _, _ = strings.Cut(part, "\n## ")
		out += part
	}
	return out
}

// Words are the words that a section has in code spans: a field "b" of `a.b[]` is one.
func Words(section string) map[string]bool {
	words := map[string]bool{}
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(section, -1) {
		for _, word := range regexp.MustCompile("[A-Za-z0-9_]+").FindAllString(span, -1) {
			words[word] = true
		}
	}
	return words
}

// Fields fails the test for each field of the values' JSON that the section does not name, and of the
// structs in them whose package is within a path. They must be at least so many: a walk that finds
// nothing proves nothing.
func Fields(t *testing.T, section, within string, least int, values ...any) {
	t.Helper()
	words, names, seen := Words(section), map[string]bool{}, map[reflect.Type]bool{}
	for _, v := range values {
		walk(reflect.TypeOf(v), within, names, seen)
	}
	if len(names) < least {
		t.Errorf("found only %d fields, want at least %d", len(names), least)
	}
	for name := range names {
		if !words[name] {
			t.Errorf("docs/json.md does not say what %q is", name)
		}
	}
}

// walk collects the names of the fields of a type, and of the structs that they hold.
func walk(x reflect.Type, within string, names map[string]bool, seen map[reflect.Type]bool) {
	for x.Kind() == reflect.Pointer || x.Kind() == reflect.Slice || x.Kind() == reflect.Map || x.Kind() == reflect.Array {
		x = x.Elem()
	}
	if x.Kind() != reflect.Struct || seen[x] || !strings.HasPrefix(x.PkgPath(), within) {
		return
	}
	seen[x] = true
	for f := range x.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name != "" {
			names[name] = true
		}
		walk(f.Type, within, names, seen)
	}
}
