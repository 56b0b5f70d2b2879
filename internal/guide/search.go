package guide

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"linerate/internal/conf"
)

// Search finds settings by id, native name, other name, or the last part of one. Those of a
// system (a GOOS word) come first.
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

// spellings are all names of a setting except its id.
func spellings(s Setting) []string {
	out := []string{s.Native()}
	for _, n := range append([]string{s.Native()}, s.Names...) {
		out = append(out, n, n[strings.LastIndexAny(n, ".:")+1:])
	}
	return out
}

// Near returns up to n names that resemble an unknown one: first those that contain it, then
// those at the smallest edit distance, which may be at most half the number of letters.
func Near(name string, n int) []string {
	best := map[string]int{}
	for _, s := range All() {
		for _, spelled := range append(spellings(s), s.ID) {
			d := conf.Distance(squeezed(name), squeezed(spelled))
			shown := spelled[strings.LastIndexAny(spelled, ".:")+1:]
			if part := squeezed(name); len(part) > 2 && strings.Contains(squeezed(spelled), part) {
				d = 0
				if !strings.Contains(squeezed(shown), part) {
					shown = s.ID // the typed name is shared by several settings
				}
			}
			if have, ok := best[shown]; !ok || d < have {
				best[shown] = d
			}
		}
	}
	maps.DeleteFunc(best, func(_ string, d int) bool { return d > max(len(name), 2)/2 })
	return conf.Nearest(best, n)
}

// NearIDs returns up to n ids of settings that resemble an unknown one, nearest first: by the
// whole id, by its last part, or by another name that a host has for it.
func NearIDs(id string, n int) []string {
	id = strings.ToLower(id)
	if len(id) > 100 { // no id is that long
		id = id[:100]
	}
	last := id[strings.LastIndexByte(id, '.')+1:]
	best := map[string]int{}
	for _, s := range All() {
		d := conf.Distance(id, strings.ToLower(s.ID))
		for _, spelled := range spellings(s) {
			spelled = strings.ToLower(spelled)
			d = min(d, conf.Distance(id, spelled), 1+conf.Distance(last, spelled[strings.LastIndexAny(spelled, ".:")+1:]))
		}
		best[s.ID] = d
	}
	return conf.Nearest(best, n)
}

// squeezed drops punctuation and case from a name, so that "read-ahead", "readahead" and
// "read_ahead" are equal.
func squeezed(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", "*", "").Replace(strings.ToLower(s))
}
