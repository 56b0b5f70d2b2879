package setter_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

func TestRSSConforms(t *testing.T) {
	for _, b := range []string{"equal=2", "weight=64,0,64", "equal=7"} {
		d := newDriver()
		settertest.Conform(t, settertest.Case{
			Setter: setter.RSS{Tables: fakeTables{d}, Interface: resolve},
			At:     setter.Place{Setting: setter.RSSSetting, Target: "pci:0000:3b:00.0"},
			A:      "default", Messy: "  default\n", B: b,
			Bad: []string{"equal", "equal=", "equal=0", "equal=65537", "weight=1,0", "weight=,", "weight=1,x", "even", "equal=2 equal=3", "weight=99999999999"},
			BadAt: []setter.Place{
				{Setting: setter.RSSSetting}, {Setting: setter.RSSSetting, Target: "eth7"}, ethPlace("ring"),
			},
			Absent: []setter.Place{{Setting: setter.RSSSetting, Target: "pci:0000:3b:00.1"}},
			Rest:   func() string { return fmt.Sprintf("%+v %+v", d.now, d.rss) },
			Refuse: func(err error) { d.refuse = err },
			Vanish: func() { d.vanish = true },
		})
	}
}

// Two values can say the same on one device; the one that was asked for is the
// one that is read.
func TestRSSReadsWhatWasAskedFor(t *testing.T) {
	d := newDriver()
	s := setter.RSS{Tables: fakeTables{d}, Interface: resolve}
	at := setter.Place{Setting: setter.RSSSetting, Target: "pci:0000:3b:00.0"}
	for _, v := range []string{"equal=8", "default", "equal=1", "weight=128"} {
		if err := s.Write(context.Background(), at, v); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(context.Background(), at, v); got != v || err != nil {
			t.Errorf("%s: read %q, %v", v, got, err)
		}
	}
	for _, v := range []string{"equal=9", "weight=64,63", "weight=0,0,0,0,0,0,0,0,128"} {
		if err := s.Write(context.Background(), at, v); err == nil {
			t.Errorf("%s: no error on a device with 8 queues and 128 slots", v)
		}
	}
	d.rss.Table[0] = 3
	if got, err := s.Read(context.Background(), at, "default"); err == nil || !strings.Contains(err.Error(), "no script could restore") {
		t.Errorf("a table that no script restores: %q, %v", got, err)
	}
}

func TestRSSShell(t *testing.T) {
	table := func(queue func(i int) int) string {
		text := "RX flow hash indirection table for eth0 with 4 RX ring(s):\n"
		for i := range 16 {
			if i%8 == 0 {
				text += fmt.Sprintf("%5d: ", i)
			}
			text += fmt.Sprintf(" %5d", queue(i))
			if i%8 == 7 {
				text += "\n"
			}
		}
		return text + "RSS hash key:\n6d:5a:56\nRSS hash function:\n    toeplitz: on\n"
	}
	at := setter.Place{Setting: setter.RSSSetting, Target: "if:lo"}
	for _, c := range []struct {
		queue          func(i int) int
		like, now, was string
	}{
		{func(i int) int { return i % 4 }, "default", "default", "-X lo default\n"},
		{func(i int) int { return i % 4 }, "equal=4", "equal=4", "-X lo equal 4\n"},
		{func(i int) int { return i % 2 }, "default", "equal=2", "-X lo default\n"},
		{func(i int) int { return i / 12 * 3 }, "weight=8,8", "weight=12,0,0,4", "-X lo weight 8 8\n"},
	} {
		bin, record := fakeProgram(t, "ethtool", table(c.queue))
		sh, err := setter.RSS{}.Shell(at, c.like)
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, bin, "set -fu; "+sh.Read); got != c.now {
			t.Errorf("like %s: read %q, want %q", c.like, got, c.now)
		}
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
		runShell(t, bin, "set -fu; value="+c.like+"; "+sh.Write)
		if called, err := os.ReadFile(record); err != nil || string(called) != c.was {
			t.Errorf("%s: called with %q, %v", c.like, called, err)
		}
	}
}
