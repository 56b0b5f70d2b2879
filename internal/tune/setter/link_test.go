package setter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// fakeLinks is an interface as the kernel keeps it: one that stands on it
// shrinks with it and stays small, and IPv6 goes below 1280.
type fakeLinks struct {
	kernel.LinkState
	refuse error
	gone   bool
	vanish bool
}

func (f *fakeLinks) Read(ifname string) (kernel.LinkState, error) {
	if f.gone || ifname != "eth7" {
		return kernel.LinkState{}, fmt.Errorf("read %s: %w", ifname, fs.ErrNotExist)
	}
	return f.LinkState, nil
}

func (f *fakeLinks) write(do func()) error {
	if f.gone {
		return fs.ErrNotExist
	}
	if f.refuse != nil {
		return f.refuse
	}
	do()
	f.gone = f.vanish
	return nil
}

func (f *fakeLinks) SetMTU(_ string, mtu int) error {
	return f.write(func() {
		f.MTU = mtu
		f.IPv6 = f.IPv6 && mtu >= 1280
		for i := range f.Above {
			f.Above[i].MTU = min(f.Above[i].MTU, mtu)
		}
	})
}

func (f *fakeLinks) SetTxQueueLen(_ string, n int) error { return f.write(func() { f.TxQueueLen = n }) }

func newLinks() *fakeLinks {
	return &fakeLinks{LinkState: kernel.LinkState{
		MTU: 1500, MinMTU: 68, MaxMTU: 9216, TxQueueLen: 1000, IPv6: true, Above: []kernel.LinkAbove{{Name: "eth7.12", MTU: 1500}},
	}}
}

func mtuPlace() setter.Place {
	return setter.Place{Setting: setter.MTUSetting, Target: "pci:0000:3b:00.0"}
}

func TestLinkConforms(t *testing.T) {
	for setting, c := range map[string]settertest.Case{
		setter.MTUSetting:        {A: "1500", B: "9000", Messy: " 1500\n", Bad: []string{"67", "65536", "1500 9000", "-1", "1.5", "0x5dc", "01500", "9k", "99999999999999999999"}},
		setter.TxQueueLenSetting: {A: "1000", B: "10000", Messy: "1000 ", Bad: []string{"-1", "1000001", "many", "18446744073709551616"}},
	} {
		links := newLinks()
		c.Setter = setter.Link{Links: links, Interface: resolve}
		c.At = setter.Place{Setting: setting, Target: "pci:0000:3b:00.0"}
		c.BadAt = []setter.Place{{Setting: setting}, {Setting: setting, Target: "eth7"}, {Setting: "linux.link.gso_max_size", Target: c.At.Target}}
		c.Absent = []setter.Place{{Setting: setting, Target: "pci:0000:3b:00.1"}}
		c.Rest = func() string { return fmt.Sprintf("%+v", links.LinkState) }
		c.Refuse = func(err error) { links.refuse = err }
		c.Vanish = func() { links.vanish = true }
		t.Run(setting, func(t *testing.T) { settertest.Conform(t, c) })
	}
}

// What goes with an MTU and does not come back with it is refused before
// anything is written.
func TestMTUWithSideEffects(t *testing.T) {
	for _, c := range []struct {
		name, mtu string
		change    func(*kernel.LinkState)
		want      error
		aside     string // what restoring it says
	}{
		{"IPv6 leaves", "1279", func(s *kernel.LinkState) { s.Above = nil }, setter.ErrSideEffect, "has left"},
		{"IPv6 stays", "1280", func(s *kernel.LinkState) { s.Above = nil }, nil, ""},
		{"no IPv6", "1000", func(s *kernel.LinkState) { s.Above, s.IPv6 = nil, false }, nil, ""},
		{"IPv6 comes", "1280", func(s *kernel.LinkState) { s.Above, s.MTU = nil, 1000 }, setter.ErrSideEffect, "are not back"},
		{"no IPv6 to come", "1500", func(s *kernel.LinkState) { s.Above, s.MTU, s.IPv6 = nil, 1000, false }, nil, ""},
		{"IPv6 is gone already", "600", func(s *kernel.LinkState) { s.Above, s.MTU = nil, 1000 }, nil, ""},
		{"a VLAN shrinks", "1400", func(*kernel.LinkState) {}, setter.ErrSideEffect, ""},
		{"a VLAN that is smaller", "1400", func(s *kernel.LinkState) { s.Above[0].MTU = 1400 }, nil, ""},
		{"more than the driver takes", "9217", func(*kernel.LinkState) {}, setter.ErrValue, ""},
		{"less than the driver takes", "1300", func(s *kernel.LinkState) { s.MinMTU = 1400 }, setter.ErrValue, ""},
		{"a driver without bounds", "65535", func(s *kernel.LinkState) { s.MinMTU, s.MaxMTU = 0, 0 }, nil, ""},
	} {
		links := newLinks()
		c.change(&links.LinkState)
		before := fmt.Sprintf("%+v", links.LinkState)
		err := setter.Link{Links: links, Interface: resolve}.Write(context.Background(), mtuPlace(), c.mtu)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
		if after := fmt.Sprintf("%+v", links.LinkState); err != nil && after != before {
			t.Errorf("%s: refused, and yet %s", c.name, after)
		}
		aside, restored := setter.Link{Links: links, Interface: resolve}.Restore(context.Background(), mtuPlace(), c.mtu)
		if says := c.aside != "" && strings.Contains(aside, c.aside); says != (aside != "") {
			t.Errorf("%s: an original MTU: says %q, want %q", c.name, aside, c.aside)
		}
		if byIPv6 := strings.HasPrefix(c.name, "IPv6"); (restored == nil) != (c.want == nil || byIPv6) {
			t.Errorf("%s: an original MTU: %v", c.name, restored)
		}
	}
}
