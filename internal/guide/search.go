package guide

import (
	"cmp"
	"maps"
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

// Near returns up to n names that are like one that is not known: those that
// it is a part of, then those with the fewest letters changed, where these are
// no more than half.
func Near(name string, n int) []string {
	best := map[string]int{}
	for _, s := range All() {
		for _, spelled := range append(spellings(s), s.ID) {
			d := distance(squeezed(name), squeezed(spelled))
			shown := spelled[strings.LastIndexAny(spelled, ".:")+1:]
			if part := squeezed(name); len(part) > 2 && strings.Contains(squeezed(spelled), part) {
				d = 0
				if !strings.Contains(squeezed(shown), part) {
					shown = s.ID // what was typed names a family
				}
			}
			if have, ok := best[shown]; !ok || d < have {
				best[shown] = d
			}
		}
	}
	maps.DeleteFunc(best, func(_ string, d int) bool { return d > max(len(name), 2)/2 })
	return nearest(best, n)
}

// Closest returns up to n of the words in among that are most like name.
func Closest(name string, among []string, n int) []string {
	best := map[string]int{}
	for _, w := range among {
		best[w] = away(name, w)
	}
	return nearest(best, n)
}

// nearest are the n words with the smallest distances.
func nearest(best map[string]int, n int) []string {
	words := slices.SortedFunc(maps.Keys(best), func(a, b string) int {
		return cmp.Or(best[a]-best[b], cmp.Compare(a, b))
	})
	return words[:min(n, len(words))]
}

// away is how unlike two names are, whatever their letters' case.
func away(a, b string) int {
	const longest = 100 // no name is longer
	a = a[:min(len(a), longest)]
	return distance(strings.ToLower(a), strings.ToLower(b))
}

// NearIDs returns up to n ids of settings that are like one that is not known,
// the nearest first: by the whole id, by its last part, or by another name that
// a host has for it.
func NearIDs(id string, n int) []string {
	id = strings.ToLower(id)
	if len(id) > 100 { // no id is that long
		id = id[:100]
	}
	last := id[strings.LastIndexByte(id, '.')+1:]
	best := map[string]int{}
	for _, s := range All() {
		d := distance(id, strings.ToLower(s.ID))
		for _, spelled := range spellings(s) {
			spelled = strings.ToLower(spelled)
			d = min(d, distance(id, spelled), 1+distance(last, spelled[strings.LastIndexAny(spelled, ".:")+1:]))
		}
		best[s.ID] = d
	}
	return nearest(best, n)
}

// squeezed is a name without what people leave out or put in: "read-ahead",
// "readahead" and "read_ahead" are one.
func squeezed(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", "*", "").Replace(strings.ToLower(s))
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
