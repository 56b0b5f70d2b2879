package setter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// fakeDriver is a NIC whose driver takes rings in steps of 8, interrupts in
// steps of 2 µs, and makes its RSS table anew with its channels.
type fakeDriver struct {
	now    map[kernel.EthGroup]map[string]int64
	rss    kernel.RSS
	refuse error
	gone   bool
	vanish bool
}

func newDriver() *fakeDriver {
	d := &fakeDriver{now: map[kernel.EthGroup]map[string]int64{
		kernel.EthRing:     {"rx": 512, "tx": 512, "rx-max": 4096, "tx-max": 4096},
		kernel.EthChannels: {"combined": 8, "combined-max": 16},
		kernel.EthCoalesce: {"rx-usecs": 8, "tx-usecs": 8, "rx-frames": 0, "adaptive-rx": 1, "adaptive-tx": 1},
		kernel.EthPause:    {"autoneg": 1, "rx": 1, "tx": 1},
	}}
	d.spread(8)
	return d
}

func (d *fakeDriver) spread(queues int) {
	d.rss = kernel.RSS{Rings: queues, Table: make([]uint32, 128)}
	for i := range d.rss.Table {
		d.rss.Table[i] = uint32(i % queues)
	}
}

func (d *fakeDriver) Get(ifname string, g kernel.EthGroup) (map[string]int64, error) {
	if d.gone || ifname != "eth7" {
		return nil, fs.ErrNotExist
	}
	return maps.Clone(d.now[g]), nil
}

func (d *fakeDriver) Set(_ string, g kernel.EthGroup, want map[string]int64) error {
	if d.gone {
		return fs.ErrNotExist
	}
	if d.refuse != nil {
		return d.refuse
	}
	for name, n := range want {
		switch {
		case g == kernel.EthRing:
			n = (n + 7) / 8 * 8
		case name == "rx-usecs" || name == "tx-usecs":
			n = n / 2 * 2
		case g == kernel.EthChannels:
			d.spread(int(n))
		}
		d.now[g][name] = n
	}
	d.gone = d.vanish
	return nil
}

type fakeTables struct{ d *fakeDriver }

func (f fakeTables) Get(ifname string) (kernel.RSS, error) {
	if f.d.gone || ifname != "eth7" {
		return kernel.RSS{}, fs.ErrNotExist
	}
	return kernel.RSS{Rings: f.d.rss.Rings, Table: slices.Clone(f.d.rss.Table)}, nil
}

func (f fakeTables) Set(_ string, table []uint32) error {
	if f.d.gone {
		return fs.ErrNotExist
	}
	if f.d.refuse != nil {
		return f.d.refuse
	}
	if len(table) == 0 {
		f.d.spread(f.d.rss.Rings)
	} else {
		f.d.rss.Table = slices.Clone(table)
	}
	f.d.gone = f.d.vanish
	return nil
}

func (d *fakeDriver) setter() setter.Ethtool {
	return setter.Ethtool{Driver: d, RSS: fakeTables{d}, Interface: resolve}
}

func ethPlace(group string) setter.Place {
	return setter.Place{Setting: "linux.ethtool." + group, Target: "pci:0000:3b:00.0"}
}

func TestEthtoolConforms(t *testing.T) {
	for group, c := range map[string]settertest.Case{
		"ring": {A: "rx=512 tx=512", B: "rx=4096 tx=1024", Messy: "tx=512\n rx=512", Rounds: map[string]string{"rx=1001": "rx=1008", "rx=9 tx=8": "rx=16 tx=8"},
			Bad: []string{"rx", "rx=", "rx=0", "rx=-1", "rx=1 rx=2", "rx=4294967296", "mini=3", "rx=1e3", "4096", "rx=0x100", "rx=4096;tx=1"}},
		"channels": {A: "combined=8", B: "combined=4", Messy: " combined=8 ", Bad: []string{"combined=all", "8", "combined=99999999999", "other=1"}},
		"coalesce": {A: "adaptive-rx=on rx-usecs=8", B: "adaptive-rx=off rx-usecs=64", Messy: "rx-usecs=8 adaptive-rx=on", Rounds: map[string]string{"rx-usecs=17": "rx-usecs=16"},
			Bad: []string{"adaptive-rx=1", "rx-usecs=on", "rx-usecs=4294967296", "usecs=3"}},
		"pause": {A: "autoneg=on rx=on tx=on", B: "autoneg=off rx=off tx=on", Messy: "rx=on  tx=on autoneg=on", Bad: []string{"rx=yes", "both=on", "on"}},
	} {
		d := newDriver()
		c.Setter, c.At = d.setter(), ethPlace(group)
		c.BadAt = []setter.Place{{Setting: c.At.Setting}, {Setting: c.At.Setting, Target: "eth7"}, ethPlace("rss"), ethPlace("")}
		c.Absent = []setter.Place{{Setting: c.At.Setting, Target: "pci:0000:3b:00.1"}}
		c.Rest = func() string { return fmt.Sprintf("%+v %+v", d.now, d.rss) }
		c.Refuse = func(err error) { d.refuse = err }
		c.Vanish = func() { d.vanish = true }
		t.Run(group, func(t *testing.T) { settertest.Conform(t, c) })
	}
}

func TestEthtoolBoundsAndWhatIsMissing(t *testing.T) {
	d := newDriver()
	e := d.setter()
	for _, c := range []struct {
		group, value string
		want         error
	}{
		{"ring", "rx=4097", setter.ErrValue},
		{"channels", "combined=17", setter.ErrValue},
		{"channels", "rx=1", setter.ErrUnsupported},
		{"coalesce", "tx-frames=1", setter.ErrUnsupported},
	} {
		before := fmt.Sprint(d.now)
		if err := e.Write(context.Background(), ethPlace(c.group), c.value); !errors.Is(err, c.want) {
			t.Errorf("%s %s: error %v, want %v", c.group, c.value, err, c.want)
		}
		if after := fmt.Sprint(d.now); after != before {
			t.Errorf("%s %s: refused, and yet %s", c.group, c.value, after)
		}
	}
}

// A driver that starts with a ring which it would not set (vmxnet3 with jumbo
// frames) could not be brought back to it.
func TestRingThatDoesNotComeBack(t *testing.T) {
	d := newDriver()
	d.now[kernel.EthRing] = map[string]int64{"rx": 1024, "tx": 512, "rx-max": 4096, "rx-step": 96, "tx-step": 32}
	write := func(v string) error { return d.setter().Write(context.Background(), ethPlace("ring"), v) }
	for _, v := range []string{"rx=2048", "tx=1024"} { // a write to one sets both
		if err := write(v); !errors.Is(err, setter.ErrSideEffect) || d.now[kernel.EthRing]["rx"] != 1024 {
			t.Errorf("%s: error %v, ring %v", v, err, d.now[kernel.EthRing])
		}
	}
	d.now[kernel.EthRing]["rx"] = 1056
	if err := write("rx=2112"); err != nil {
		t.Error(err)
	}
}

// Channels make the RSS table anew: one made by hand would be lost.
func TestChannelsKeepAnRSSTable(t *testing.T) {
	d := newDriver()
	at := setter.Place{Setting: setter.RSSSetting, Target: "pci:0000:3b:00.0"}
	tables := setter.RSS{Tables: fakeTables{d}, Interface: resolve}
	write := func(s setter.Setter, at setter.Place, v string) error { return s.Write(context.Background(), at, v) }
	if err := write(tables, at, "equal=2"); err != nil {
		t.Fatal(err)
	}
	if err := write(d.setter(), ethPlace("channels"), "combined=4"); !errors.Is(err, setter.ErrSideEffect) || d.now[kernel.EthChannels]["combined"] != 8 {
		t.Errorf("error %v, channels %v", err, d.now[kernel.EthChannels])
	}
	// As the message says: the table first, and back last.
	for _, step := range []struct {
		s  setter.Setter
		at setter.Place
		v  string
	}{{tables, at, "default"}, {d.setter(), ethPlace("channels"), "combined=4"}, {d.setter(), ethPlace("channels"), "combined=8"}, {tables, at, "equal=2"}} {
		if err := write(step.s, step.at, step.v); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := tables.Read(context.Background(), at, "equal=2"); got != "equal=2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// fakeProgram puts a program in a directory for PATH. It prints text; what it
// is called with goes into the file that is returned.
func fakeProgram(t *testing.T, name, text string) (bin, record string) {
	t.Helper()
	bin = t.TempDir()
	record = filepath.Join(bin, "called")
	script := "#!/bin/sh\necho \"$@\" >> " + record + "\ncat <<'EOT'\n" + text + "EOT\n"
	labtest.Program(t, filepath.Join(bin, name), strings.NewReader(script))
	return bin, record
}

// What ethtool 6.1 of Debian prints.
const (
	ringText = `Ring parameters for eth0:
Pre-set maximums:
RX:		4096
RX Mini:	n/a
RX Jumbo:	n/a
TX:		2048
Current hardware settings:
RX:		256
RX Mini:	n/a
RX Jumbo:	n/a
TX:		128
RX Buf Len:		n/a
CQE Size:		n/a
`
	coalesceText = `Coalesce parameters for eth0:
Adaptive RX: off  TX: on
stats-block-usecs: n/a
sample-interval: n/a

rx-usecs: 3
rx-frames: n/a
rx-usecs-irq: n/a

tx-usecs: 12
CQE mode RX: n/a  TX: n/a
`
	pauseText    = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\toff\nTX:\t\ton\n\n"
	channelsText = `Channel parameters for eth0:
Pre-set maximums:
RX:		n/a
TX:		n/a
Other:		n/a
Combined:	8
Current hardware settings:
RX:		n/a
TX:		n/a
Other:		n/a
Combined:	4
`
)

func TestEthtoolShell(t *testing.T) {
	for _, c := range []struct{ group, text, now, value, called string }{
		{"ring", ringText, "rx=256 tx=128", "rx=512 tx=512", "-G lo rx 512 tx 512\n"},
		{"channels", channelsText, "combined=4", "combined=2", "-L lo combined 2\n"},
		{"coalesce", coalesceText, "adaptive-rx=off adaptive-tx=on rx-usecs=3 tx-usecs=12", "adaptive-rx=on rx-usecs=8", "-C lo adaptive-rx on rx-usecs 8\n"},
		{"pause", pauseText, "autoneg=on rx=off tx=on", "autoneg=off rx=on", "-A lo autoneg off rx on\n"},
	} {
		bin, record := fakeProgram(t, "ethtool", c.text)
		at := setter.Place{Setting: "linux.ethtool." + c.group, Target: "if:lo"}
		sh, err := setter.Ethtool{}.Shell(at, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, bin, "set -fu; "+sh.Read); got != c.now {
			t.Errorf("%s: read %q, want %q", c.group, got, c.now)
		}
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
		runShell(t, bin, "set -fu; value='"+c.value+"'; "+sh.Write)
		called, err := os.ReadFile(record)
		if err != nil || string(called) != c.called {
			t.Errorf("%s: ethtool was called with %q, %v, want %q", c.group, called, err, c.called)
		}
	}
}
