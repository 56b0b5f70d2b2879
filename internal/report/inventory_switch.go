package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// switchCard is the port of a switch that an interface is plugged into.
func switchCard(p model.SwitchPort) *document.Card {
	c := &document.Card{Class: "setting", Title: p.Interface, Text: fmt.Sprintf("at %s of switch %s (by %s)", p.Port, cmp.Or(p.System, p.Chassis), p.Source)}
	add := func(name, value string) { c.Pairs = append(c.Pairs, pair(name, value)) }
	size := "largest packet"
	if p.Frame {
		size = "largest frame"
	}
	add(size, known(p.MTU, func(n int) string { return fmt.Sprint(n) }))
	add("group", known(p.Group, func(g string) string { return cmp.Or(g, "none") }))
	if strings.HasPrefix(p.Source, "lldp") {
		return c // it tells no more
	}
	add("link", known(p.Speed, unit.BitRate.String))
	add("flow control", known(p.Pause, func(f model.Pause) string {
		word := map[bool]string{false: "off", true: "on"}
		return fmt.Sprintf("rx %s, tx %s", word[f.Rx], word[f.Tx])
	}))
	add("counters", known(p.Counters, countsWords))
	add("traffic classes", known(p.Classes, func(n int) string { return fmt.Sprint(n) }))
	queues, ok := p.Queues.Get()
	if !ok {
		add("queues", known(p.Queues, func([]model.SwitchQueue) string { return "" }))
	}
	for _, q := range queues {
		add("queue "+q.Queue, queueWords(q))
	}
	return c
}

// countsWords lists counters that are not 0, by name.
func countsWords(counts map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), n))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "all 0")
}

func queueWords(q model.SwitchQueue) string {
	parts := []string{"to the host"}
	if q.In {
		parts[0] = "from the host"
	}
	for _, f := range []struct {
		words string
		fact  model.Fact[int64]
	}{{"%d dropped", q.Drops}, {"%d more between two readings", q.Rose}, {"%d sent", q.Passed}, {"%d cells of buffer in use", q.Cells}} {
		if n, ok := f.fact.Get(); ok {
			parts = append(parts, fmt.Sprintf(f.words, n))
		}
	}
	return strings.Join(parts, ", ")
}
