package cli

import (
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/rules"
)

// printDocument writes what a command has to say to the terminal that it has.
func printDocument(env *environment, d document.Document) error {
	return d.Text(env.out, env.color, env.width)
}

type ruleRow struct {
	Rule     string            `json:"rule"`
	Doc      string            `json:"doc"`
	Limiters []model.LimiterID `json:"limiters,omitempty"`
}

// printRules lists the rules by name.
func printRules(env *environment) error {
	var list []ruleRow
	for _, r := range rules.All() {
		list = append(list, ruleRow{r.ID, r.Doc, r.Limits})
	}
	for _, r := range rules.AllPairs() {
		list = append(list, ruleRow{r.ID, r.Doc, r.Limits})
	}
	if env.json {
		return printJSON(env, map[string]any{"v": 1, "rules": list})
	}
	slices.SortFunc(list, func(a, b ruleRow) int { return strings.Compare(a.Rule, b.Rule) })
	t := document.Table{Head: document.Columns("Rule", "What it looks for")}
	for _, r := range list {
		t.Row(r.Rule, r.Doc)
	}
	return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
}
