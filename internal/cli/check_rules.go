package cli

import (
	"slices"
	"strings"

	"linerate/internal/app/check"
	"linerate/internal/report/document"
)

// printDocument writes what a command has to say to the terminal that it has.
func printDocument(env *environment, d document.Document) error {
	return d.Text(env.out, env.color, env.width)
}

// saying is a document of one paragraph each.
func saying(texts ...string) (d document.Document) {
	for _, text := range texts {
		d.Lead = append(d.Lead, document.Block{Text: text})
	}
	return d
}

// printRules lists the rules, for people by name.
func printRules(env *environment) error {
	list := check.Rules()
	if env.json {
		return printJSON(env, map[string]any{"v": 1, "rules": list})
	}
	slices.SortFunc(list, func(a, b check.Rule) int { return strings.Compare(a.Rule, b.Rule) })
	t := document.Table{Head: document.Columns("Rule", "What it looks for")}
	for _, r := range list {
		t.Row(r.Rule, r.Doc)
	}
	return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
}
