package file

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/conf"
)

//go:embed template/*.yaml schema.json
var embedded embed.FS

// Template is a study file to begin with.
type Template struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	Source   string `json:"source"` // the paper, if it is of one
	Text     string `json:"text,omitempty"`
}

// Templates are all of them: those of papers first, then those of questions,
// each by name.
func Templates() []Template {
	entries, err := embedded.ReadDir("template")
	if err != nil {
		panic(fmt.Sprintf("embedded templates: %v", err)) // part of the program
	}
	var papers, questions []Template
	for _, e := range entries {
		text, err := embedded.ReadFile("template/" + e.Name())
		if err != nil {
			panic(fmt.Sprintf("embedded %s: %v", e.Name(), err))
		}
		t := Template{Name: strings.TrimSuffix(e.Name(), ".yaml"), Text: string(text)}
		t.Question, t.Source = lineValue(t.Text, "question"), lineValue(t.Text, "source")
		if paper, _, _ := strings.Cut(t.Name, "-"); slices.Contains([]string{"atto", "cit", "dell", "nappit", "sfc"}, paper) {
			papers = append(papers, t)
		} else {
			questions = append(questions, t)
		}
	}
	return append(papers, questions...)
}

// lineValue is the value of a key that stands at the beginning of a line.
func lineValue(text, key string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, key+": "); ok {
			return strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return ""
}

// FindTemplate returns the template of a name; the error names the nearest.
func FindTemplate(name string) (Template, error) {
	all := Templates()
	var names []string
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return Template{}, fmt.Errorf("there is no template %q; near it are %s", name, strings.Join(conf.Closest(name, names, 3), ", "))
}

// Schema is the JSON Schema of a study file, for editors.
func Schema() []byte {
	b, err := embedded.ReadFile("schema.json")
	if err != nil {
		panic(fmt.Sprintf("embedded schema: %v", err))
	}
	return b
}
