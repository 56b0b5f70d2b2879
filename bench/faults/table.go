package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// table sums the cases by mishap, by work, and by both, and has what was seen in those that are
// not 0.
func table(cases []outcome) string {
	var out strings.Builder
	for _, of := range []func(order) order{
		func(o order) order { return order{Work: "all", Mishap: o.Mishap} },
		func(o order) order { return order{Work: o.Work, Mishap: "all"} },
		func(o order) order { return order{Work: o.Work, Mishap: o.Mishap} },
	} {
		out.WriteString(summed(cases, of) + "\n")
	}
	for _, c := range cases {
		for _, seen := range c.Seen {
			fmt.Fprintf(&out, "%s (seed %d), %s\n\n", c.order, c.Seed, seen)
		}
	}
	return out.String()
}

// summed is a table with one row for all cases that of gives the same key, and their sum.
// Controls that went well are no cases.
func summed(cases []outcome, of func(order) order) string {
	var rows []outcome
	count, hits := map[order]int{}, map[order]int{}
	total := outcome{order: order{Work: "all", Mishap: "all"}}
	for _, c := range cases {
		if c.Mishap == nothing && len(c.Seen) == 0 {
			continue
		}
		key := of(c.order)
		i := slices.IndexFunc(rows, func(r outcome) bool { return r.order == key })
		if i < 0 {
			i, rows = len(rows), append(rows, outcome{order: key})
		}
		for _, r := range []*outcome{&rows[i], &total} {
			r.add(c)
			count[r.order]++
			if c.Hit {
				hits[r.order]++
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b outcome) int {
		return cmp.Or(placeOf(a.order)-placeOf(b.order), strings.Compare(a.Mishap, b.Mishap))
	})
	var out strings.Builder
	out.WriteString("| work | mishap | cases | met | not restored | processes | namespaces | cgroups | files | wrong words | not done |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range append(rows, total) {
		fmt.Fprintf(&out, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", r.Work, r.Mishap, count[r.order], hits[r.order],
			r.Settings, r.Processes, r.Namespaces, r.Cgroups, r.Files, r.Words, r.NotDone)
	}
	return out.String()
}

// placeOf is where works and mishaps stand in their lists.
func placeOf(o order) int {
	w := slices.IndexFunc(works(), func(w work) bool { return w.name == o.Work })
	m := slices.IndexFunc(mishaps(), func(m mishap) bool { return m.name == o.Mishap })
	return 100*w + m
}

func (c *outcome) add(o outcome) {
	c.Settings += o.Settings
	c.Processes += o.Processes
	c.Namespaces += o.Namespaces
	c.Cgroups += o.Cgroups
	c.Files += o.Files
	c.Words += o.Words
	c.NotDone += o.NotDone
}
