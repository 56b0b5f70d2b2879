package loop

import (
	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/rules"
)

// check adds the findings of one host to the results and to the verdict's case.
func check(r *model.Results, c *explain.Case, f *model.Facts, by rules.Context) {
	found := rules.Check(f, by)
	r.Findings = append(r.Findings, found...)
	c.Findings = append(c.Findings, found...)
}
