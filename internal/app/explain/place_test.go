package explain

import (
	"strings"
	"testing"

	"linerate/internal/loop"
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
		{3.9 * unit.Gbit, 10 * unit.Gbit, "", ""},
	} {
		got := placeNote(published.All(), c.rate, c.line, c.protocol, "read")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s on %s by %q: %q, want %q", c.rate, c.line, c.protocol, got, c.want)
		}
	}
}

func TestAddPlaceToAWatchedMount(t *testing.T) {
	reads := []model.Sample{{Conns: []model.Conn{{BytesReceived: 10}}}, {Conns: []model.Conn{{BytesReceived: 1e9, BytesAcked: 1e6}}}}
	r := &model.Results{Hosts: []string{"client1"}, Runs: []model.Run{{Samples: map[string][]model.Sample{"client1": reads}}}}
	r.Verdict.Measured = 4 * unit.Gbit
	facts := map[string]*model.Facts{"client1": {NICs: []model.NIC{{Name: "lo", Up: true}, {Name: "eth0", Up: true, Speed: model.Known(10 * unit.Gbit)}}}}
	none := model.Unknown[unit.BitRate](model.Absent, "")
	if addPlace(r, facts, loop.Target{Mount: "/mnt/nas"}, none); len(r.Verdict.Notes) != 1 || !strings.Contains(r.Verdict.Notes[0], "10GbE NFS read") {
		t.Errorf("%q", r.Verdict.Notes)
	}
	if addPlace(r, facts, loop.Target{Name: "nas1:5201"}, none); len(r.Verdict.Notes) != 1 {
		t.Errorf("plain TCP was placed: %q", r.Verdict.Notes)
	}
	facts["client1"].NICs[0].Speed = model.Known(unit.Gbit)
	if addPlace(r, facts, loop.Target{Mount: "/mnt/nas"}, none); len(r.Verdict.Notes) != 1 {
		t.Errorf("two speeds, and one was chosen: %q", r.Verdict.Notes)
	}
}
