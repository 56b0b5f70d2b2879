package cli

import (
	"slices"
	"testing"

	"linerate/internal/app/load"
)

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string]load.CPUs{"auto": {Near: true}, "any": {}, "0": {List: []int{0}}, "0-3,8": {List: []int{0, 1, 2, 3, 8}}, "2,2,1-2": {List: []int{2, 1}}} {
		got, err := parseCPUs(text)
		if err != nil || got.Near != want.Near || !slices.Equal(got.List, want.List) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "a", "3-1", "-1", "1-", "0-9999", "0,,1"} {
		if got, err := parseCPUs(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
