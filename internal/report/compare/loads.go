package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"linerate/internal/model"
)

// loads compares two loads: every number that both gave.
func (c *Comparison) loads(a, b *model.Load) {
	if a.Kind != b.Kind {
		c.Notes = append(c.Notes, fmt.Sprintf("A is a load of kind %s, B of kind %s: their figures do not mean the same", a.Kind, b.Kind))
		return
	}
	x, y := figures(a), figures(b)
	for _, k := range slices.Sorted(slices.Values(keys(x))) {
		if v, ok := y[k]; ok {
			c.Figures = append(c.Figures, Figure{k, x[k], v, over(v, x[k])})
		}
	}
	if s, t := part(a, "spec"), part(b, "spec"); !bytes.Equal(s, t) {
		c.Changed = append(c.Changed, Difference{"", "what was run", string(s), string(t)})
		c.Notes = append(c.Notes, "the two loads did not run the same: a difference of their figures may be that")
	}
	c.Notes = append(c.Notes, "each figure is of one run: how much two equal runs differ is not known from them, so no significance can be given")
}

// part is one object of what a load's command prints, without blanks; nil: there
// is none.
func part(l *model.Load, name string) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(l.Data, &all) != nil || all[name] == nil {
		return nil
	}
	var out bytes.Buffer
	if json.Compact(&out, all[name]) != nil {
		return nil
	}
	return out.Bytes()
}

// figures are the numbers of a load's result by their paths; lists, which need
// not have the same things in the same order, are left out.
func figures(l *model.Load) map[string]float64 {
	out := map[string]float64{}
	for name, path := range map[string]string{"load": "", "frames": "frames"} {
		var tree any
		if raw := part(l, name); raw != nil && json.Unmarshal(raw, &tree) == nil {
			collect(path, tree, out)
		}
	}
	return out
}

func collect(path string, v any, out map[string]float64) {
	switch x := v.(type) {
	case float64:
		out[path] = x
	case map[string]any:
		for k, y := range x {
			p := k
			if path != "" {
				p = path + "." + k
			}
			collect(p, y, out)
		}
	}
}
