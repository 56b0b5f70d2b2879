package check

import (
	"linerate/internal/model"
	"linerate/internal/rules"
)

// Rule is a rule as check lists it.
type Rule struct {
	Rule     string            `json:"rule"`
	Doc      string            `json:"doc"`
	Limiters []model.LimiterID `json:"limiters,omitempty"`
}

// Rules lists those of one host, then those of a pair.
func Rules() []Rule {
	var list []Rule
	for _, r := range rules.All() {
		list = append(list, Rule{r.ID, r.Doc, r.Limits})
	}
	for _, r := range rules.AllPairs() {
		list = append(list, Rule{r.ID, r.Doc, r.Limits})
	}
	return list
}

// Severities of findings, worst first.
func Severities() []string { return rules.Severities() }
