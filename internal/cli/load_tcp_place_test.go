package cli

import (
	"net/netip"
	"slices"
	"testing"

	"linerate/internal/model"
)

func TestParseCPUs(t *testing.T) {
	for text, want := range map[string][]int{"0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "2,2,1-2": {2, 1}} {
		got, err := parseCPUs(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "a", "3-1", "-1", "1-", "0-9999", "0,,1"} {
		if got, err := parseCPUs(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if got := cpuList([]int{0, 1, 2, 8, 10, 11}); got != "0-2,8,10-11" {
		t.Errorf("%s", got)
	}
}

// The CPUs near the card are taken only where they are known and are not all, and
// never one that this host may not use.
func TestNearCard(t *testing.T) {
	to := netip.MustParseAddr("10.0.0.2")
	host := func(local model.Fact[[]int], allowed ...int) *model.Facts {
		return &model.Facts{CPUs: allowed, NICs: []model.NIC{
			{Name: "mgmt", Addrs: []netip.Prefix{netip.MustParsePrefix("192.168.0.1/24")}, LocalCPUs: model.Known([]int{0})},
			{Name: "data", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}, LocalCPUs: local},
		}}
	}
	for name, c := range map[string]struct {
		f    *model.Facts
		want []int
	}{
		"a node of two":     {host(model.Known([]int{2, 3}), 0, 1, 2, 3), []int{2, 3}},
		"some not allowed":  {host(model.Known([]int{2, 3, 4}), 0, 3, 4), []int{3, 4}},
		"all are near":      {host(model.Known([]int{0, 1, 2, 3}), 0, 1), nil},
		"none of ours":      {host(model.Known([]int{4, 5}), 0, 1), nil},
		"not known":         {host(model.Unknown[[]int](model.Unsupported, "virtual"), 0, 1), nil},
		"no route to there": {&model.Facts{CPUs: []int{0, 1}}, nil},
	} {
		if got := nearCard(c.f, to); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
