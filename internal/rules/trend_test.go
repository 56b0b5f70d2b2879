package rules

import (
	"testing"
	"time"

	"linerate/internal/model"
)

// A counter that rises is a finding, as large as what rose; one that does not is
// none however much it holds, unless nothing passed that could tell.
func TestTally(t *testing.T) {
	at := time.Unix(1e9, 0)
	look := func(bad, all int64, later time.Duration) *model.Facts {
		f := settings()
		f.Taken = at.Add(later)
		f.NetCounters = model.Known(map[string]int64{"Tcp.InCsumErrors": bad, "Tcp.InSegs": all})
		return f
	}
	for _, c := range []struct {
		name          string
		first, second *model.Facts
		boot          string
		severity      string // "" is silent
		bad           int64
	}{
		{"one look, clean", nil, look(0, 1e9, 0), "", "", 0},
		{"one look, few", nil, look(99, 1e6, 0), "", "", 0},
		{"one look, a small share", nil, look(999, 1e9, 0), "", "", 0},
		{"one look, many", nil, look(1000, 1e9, 0), "", Info, 1000},
		{"does not rise", look(5000, 1e9, 0), look(5000, 1e9+5000, 10*time.Second), "", "", 0},
		{"does not rise, nothing passed", look(5000, 1e9, 0), look(5000, 1e9+10, 10*time.Second), "", Info, 5000},
		{"rises", look(5000, 1e9, 0), look(5020, 1e9+5000, 10*time.Second), "", Low, 20},
		{"rises by a little", look(0, 1e9, 0), look(1, 1e9+5000, 10*time.Second), "", Low, 1},
		{"rises by less than counts", look(0, 1e9, 0), look(1, 1e9+2e6, 10*time.Second), "", "", 0},
		{"began anew", look(5000, 1e9, 0), look(100, 1e6, 10*time.Second), "", Info, 100},
		{"another boot", look(5000, 1e9, 0), look(6000, 2e9, 10*time.Second), "other", Info, 6000},
		{"a clock that went back", look(5000, 1e9, time.Hour), look(6000, 2e9, 0), "", Info, 6000},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.second.BootID = c.boot
			var got *tally
			if list := only(Check(c.second, Context{Earlier: c.first}), "tcp-checksum-errors"); len(list) > 0 {
				got = Context{Earlier: c.first}.tally(c.second, 100, 1e-6, ofStack("Tcp.InSegs", "Tcp.InCsumErrors"))
				if list[0].Severity != c.severity {
					t.Errorf("severity %s, want %q: %s", list[0].Severity, c.severity, list[0].Observed)
				}
			}
			if (got != nil) != (c.severity != "") || got != nil && got.bad != c.bad {
				t.Errorf("%+v, want %d (%q)", got, c.bad, c.severity)
			}
		})
	}
}

// A port that was replaced by another of its name between the looks is not
// compared with it.
func TestTallyOfAnotherPort(t *testing.T) {
	first, second := server(), server()
	first.NICs[0].Device, second.Taken = "pci:0000:99:00.0", first.Taken.Add(time.Second)
	first.NICs[0].Counters.Value["rx_crc_errors"], second.NICs[0].Counters.Value["rx_crc_errors"] = 0, 5000
	second.NICs[0].Counters.Value["rx_packets"] += 1e6
	if got := only(Check(second, Context{Earlier: first}), "crc-errors"); len(got) != 1 || got[0].Severity != Info {
		t.Errorf("%+v", got)
	}
}

func TestWantsSecondLook(t *testing.T) {
	f := server()
	if WantsSecondLook(f) {
		t.Error("a host without errors")
	}
	f.NICs[0].MTU = 1400 // a finding, though not of a counter
	if WantsSecondLook(f) {
		t.Error("a host with a finding that no second look changes")
	}
	f.NICs[1].Counters.Value["rx_missed_errors"] = 1e6
	if !WantsSecondLook(f) {
		t.Error("a host with an error counter")
	}
}
