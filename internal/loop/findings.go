package loop

import (
	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/rules"
)

// find adds what the rules say of one host, and has the verdict cite what names
// the same limiter. The verdict must be there.
func find(r *model.Results, f *model.Facts, c rules.Context) {
	found := rules.Check(f, c)
	r.Findings = append(r.Findings, found...)
	explain.Cite(&r.Verdict, found)
}
