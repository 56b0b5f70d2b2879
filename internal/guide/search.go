package guide

import (
	"cmp"
	"slices"
	"strings"
)

// Search finds settings by id, native name, other name, or the last part of
// one. Those of a system (a GOOS word) come first.
func Search(name, goos string) []Setting {
	os := map[string]string{"darwin": "macos", "solaris": "illumos"}[goos]
	if os == "" {
		os = goos
	}
	var out []Setting
	for _, s := range All() {
		if strings.EqualFold(s.ID, name) {
			return []Setting{s}
		}
		if slices.ContainsFunc(spellings(s), func(n string) bool { return strings.EqualFold(n, name) }) {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Setting) int { return cmp.Compare(rank(a, os), rank(b, os)) })
	return out
}

func rank(s Setting, os string) int {
	if s.OS() == os {
		return 0
	}
	return 1
}

// spellings are all names of a setting but its id.
func spellings(s Setting) []string {
	out := []string{s.Native()}
	for _, n := range append([]string{s.Native()}, s.Names...) {
		out = append(out, n, n[strings.LastIndexAny(n, ".:")+1:])
	}
	return out
}

// Near returns up to n names that are like one that is not known.
func Near(name string, n int) []string {
	type candidate struct {
		name string
		away int
	}
	name = strings.ToLower(name)
	if len(name) > 100 { // no name is that long
		name = name[:100]
	}
	best := map[string]int{}
	for _, s := range All() {
		for _, spelled := range spellings(s) {
			d := distance(name, strings.ToLower(spelled))
			short := spelled[strings.LastIndexAny(spelled, ".:")+1:]
			if have, ok := best[short]; !ok || d < have {
				best[short] = d
			}
		}
	}
	var list []candidate
	for k, d := range best {
		list = append(list, candidate{k, d})
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Or(a.away-b.away, cmp.Compare(a.name, b.name)) })
	var out []string
	for _, c := range list[:min(n, len(list))] {
		out = append(out, c.name)
	}
	return out
}

// distance is Levenshtein's: letters put in, taken out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
