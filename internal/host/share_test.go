package host

import (
	"fmt"
	"maps"
	"testing"

	"linerate/internal/model"
)

func factsLike(n int) *model.Facts {
	return &model.Facts{
		Settings: map[string]model.Fact[string]{"a": model.Known(fmt.Sprint(n)), "b": model.Unknown[string](model.Absent, "x")},
		NICs:     []model.NIC{{Features: model.Known(map[string]bool{"tso": true, "gro": n > 0})}, {}},
		Mounts:   []model.Mount{{Options: map[string]string{"rw": "", "vers": "4.2"}}, {Options: map[string]string{}}},
	}
}

// same tells whether two maps are one.
func same[V any](a, b map[string]V) bool { return fmt.Sprintf("%p", a) == fmt.Sprintf("%p", b) }

// What hosts have alike is held once, what differs is not mixed up, and there is a bound.
func TestWhatHostsHaveAlikeIsHeldOnce(t *testing.T) {
	var s shared
	a, b, other := factsLike(0), factsLike(0), factsLike(1)
	for _, f := range []*model.Facts{a, b, other} {
		s.facts(f)
	}
	if !same(a.Settings, b.Settings) || !same(a.NICs[0].Features.Value, b.NICs[0].Features.Value) || !same(a.Mounts[0].Options, other.Mounts[0].Options) {
		t.Error("what is alike is held twice")
	}
	want := factsLike(1)
	if !maps.Equal(other.Settings, want.Settings) || !maps.Equal(other.NICs[0].Features.Value, want.NICs[0].Features.Value) {
		t.Errorf("%+v, want %+v", other, want)
	}
	if a.NICs[1].Features.Value != nil || a.Mounts[1].Options == nil {
		t.Error("an empty table became another")
	}
	for n := range 2 * mostShared {
		s.facts(factsLike(n))
	}
	if len(s.all) != mostShared {
		t.Errorf("%d tables are held, want %d", len(s.all), mostShared)
	}
}
