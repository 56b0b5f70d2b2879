package explain

import (
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/published"
	"linerate/internal/unit"
)

func TestPlaceNote(t *testing.T) {
	for _, c := range []struct {
		rate, line unit.BitRate
		protocol   string
		want       string // empty: no note
	}{
		{3.9 * unit.Gbit, 10 * unit.Gbit, "NFS", `like "10GbE NFS read" it is above 1 of 4 `},
		{3.9 * unit.Gbit, 25 * unit.Gbit, "NFS", ""},
		{12 * unit.Gbit, 10 * unit.Gbit, "NFS", ""},
		{3.9 * unit.Gbit, 0, "NFS", ""},
	} {
		got := placeNote(published.All(), c.rate, c.line, c.protocol, "read")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s on %s by %q: %q, want %q", c.rate, c.line, c.protocol, got, c.want)
		}
	}
}

func TestPlaceOfAWatchedMount(t *testing.T) {
	nics := []model.NIC{{Name: "lo", Up: true}, {Name: "eth0", Up: true, Speed: model.Known(10 * unit.Gbit)}}
	for _, c := range []struct {
		name     string
		protocol string
		lo       model.Fact[unit.BitRate]
		want     string // in the only note; empty: none
	}{
		{"a mount that is read", "NFS", model.Fact[unit.BitRate]{}, "10GbE NFS read"},
		{"plain TCP", "", model.Fact[unit.BitRate]{}, ""},
		{"two speeds", "NFS", model.Known(unit.Gbit), ""},
	} {
		nics[0].Speed = c.lo
		seen := &views{Case: Case{Receiver: &End{Facts: &model.Facts{NICs: nics}}, Protocol: c.protocol}}
		v := model.Verdict{Measured: 4 * unit.Gbit}
		place(&v, seen)
		if got := strings.Join(v.Notes, "|"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
