package setter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// fakeQueue is an interface with more than one queue, in a kernel that has no
// fq_codel.
type fakeQueue struct {
	kernel.Qdisc
	refuse       error
	vanish, gone bool
}

func newQueue() *fakeQueue {
	return &fakeQueue{Qdisc: kernel.Qdisc{Kind: "mq", Default: true, MaxRate: kernel.NoMaxRate}}
}

func (f *fakeQueue) Get(ifname string) (kernel.Qdisc, error) {
	if f.gone || ifname != "eth7" {
		return kernel.Qdisc{}, fs.ErrNotExist
	}
	return f.Qdisc, nil
}

func (f *fakeQueue) set(q kernel.Qdisc) error {
	if f.refuse != nil {
		return f.refuse
	}
	f.Qdisc, f.gone = q, f.vanish
	return nil
}

func (f *fakeQueue) Set(_, kind string) error {
	switch kind {
	case "":
		return f.set(newQueue().Qdisc)
	case "fq_codel":
		return syscall.ENOENT
	}
	return f.set(kernel.Qdisc{Kind: kind, Ours: true, MaxRate: kernel.NoMaxRate})
}

func (f *fakeQueue) SetMaxRate(_ string, rate uint32) error {
	q := f.Qdisc
	q.MaxRate = rate
	return f.set(q)
}

func qdiscPlace(setting string) setter.Place {
	return setter.Place{Setting: setting, Target: "pci:0000:3b:00.0"}
}

func TestQueueConforms(t *testing.T) {
	for setting, c := range map[string]settertest.Case{
		setter.QdiscSetting:     {A: "default", B: "fq", Messy: " default\n", Bad: []string{"htb", "fq maxrate 1gbit", "FQ", "noqueue", "fq;x"}},
		setter.FQMaxRateSetting: {A: "none", B: "9000000000", Messy: " none", Bad: []string{"0", "-8", "9000000001", "9gbit", "34359738360", "99999999999999999999"}},
	} {
		f := newQueue()
		if setting == setter.FQMaxRateSetting {
			f.Qdisc = kernel.Qdisc{Kind: "fq", Ours: true, MaxRate: kernel.NoMaxRate}
		}
		c.Setter, c.At = setter.Queue{Disciplines: f, Interface: resolve}, qdiscPlace(setting)
		c.BadAt = []setter.Place{{Setting: setting}, {Setting: setting, Target: "eth7"}, qdiscPlace("linux.tc.filter")}
		c.Absent = []setter.Place{{Setting: setting, Target: "pci:0000:3b:00.1"}}
		c.Rest = func() string { return fmt.Sprintf("%+v", f.Qdisc) }
		c.Refuse = func(err error) { f.refuse = err }
		c.Vanish = func() { f.vanish = true }
		t.Run(setting, func(t *testing.T) { settertest.Conform(t, c) })
	}
}

// What somebody configured is never replaced, for a name does not bring its
// parameters back.
func TestQueueLeavesOthersAlone(t *testing.T) {
	write := func(q kernel.Qdisc, setting, value string) (kernel.Qdisc, error) {
		f := &fakeQueue{Qdisc: q}
		err := setter.Queue{Disciplines: f, Interface: resolve}.Write(context.Background(), qdiscPlace(setting), value)
		return f.Qdisc, err
	}
	for _, c := range []struct {
		name           string
		q              kernel.Qdisc
		setting, value string
		want           error
		changed        bool
	}{
		{"a shaper", kernel.Qdisc{Kind: "htb", MaxRate: kernel.NoMaxRate}, setter.QdiscSetting, "fq", setter.ErrSideEffect, false},
		{"an fq with parameters", kernel.Qdisc{Kind: "fq", MaxRate: kernel.NoMaxRate}, setter.QdiscSetting, "default", setter.ErrSideEffect, false},
		{"the same kind again", kernel.Qdisc{Kind: "fq", MaxRate: 125}, setter.QdiscSetting, "fq", nil, false},
		{"a queue below mq", kernel.Qdisc{Kind: "mq", Default: true, Below: []string{"fq 8001:"}, MaxRate: kernel.NoMaxRate}, setter.QdiscSetting, "fq", setter.ErrSideEffect, false},
		{"ours with a rate", kernel.Qdisc{Kind: "fq", Ours: true, MaxRate: 125}, setter.QdiscSetting, "default", setter.ErrSideEffect, false},
		{"ours", kernel.Qdisc{Kind: "fq", Ours: true, MaxRate: kernel.NoMaxRate}, setter.QdiscSetting, "mq", nil, true},
		{"a kind that the kernel lacks", newQueue().Qdisc, setter.QdiscSetting, "fq_codel", syscall.ENOENT, false},
		{"a rate of somebody's fq", kernel.Qdisc{Kind: "fq", MaxRate: kernel.NoMaxRate}, setter.FQMaxRateSetting, "8000", nil, true},
	} {
		before := fmt.Sprintf("%+v", c.q)
		after, err := write(c.q, c.setting, c.value)
		if !errors.Is(err, c.want) || (fmt.Sprintf("%+v", after) != before) != c.changed {
			t.Errorf("%s: error %v, want %v; %s became %+v", c.name, err, c.want, before, after)
		}
	}
	f := newQueue()
	if v, err := (setter.Queue{Disciplines: f, Interface: resolve}).Read(context.Background(), qdiscPlace(setter.FQMaxRateSetting), ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("the rate of no fq: %q, %v", v, err)
	}
}

func TestQueueShell(t *testing.T) {
	const plain = "qdisc fq 11fe: root refcnt 2 limit 10000p\nqdisc ingress ffff: parent ffff:fff1 ----------------\n"
	const dflt = "qdisc mq 0: root\nqdisc fq_codel 0: parent :1 limit 10240p\n"
	json := func(rate string) string {
		return `[{"kind":"fq","handle":"11fe:","root":true,"refcnt":2,"options":{"limit":10000,` + rate + `"quantum":3028}},{"kind":"ingress","handle":"ffff:","parent":"ffff:fff1","options":{}}]` + "\n"
	}
	for _, c := range []struct{ setting, text, now, value, called string }{
		{setter.QdiscSetting, plain, "fq", "default", "qdisc del dev lo root\n"},
		{setter.QdiscSetting, dflt, "default", "fq", "qdisc replace dev lo root fq\n"},
		{setter.FQMaxRateSetting, json(`"maxrate":125000000,`), "1000000000", "none", "qdisc change dev lo root fq maxrate 34359738360bit\n"},
		{setter.FQMaxRateSetting, json(""), "none", "8000", "qdisc change dev lo root fq maxrate 8000bit\n"},
	} {
		bin, record := fakeProgram(t, "tc", c.text)
		sh, err := setter.Queue{}.Shell(setter.Place{Setting: c.setting, Target: "if:lo"}, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, bin, "set -fu; "+sh.Read); got != c.now {
			t.Errorf("read %q, want %q", got, c.now)
		}
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
		runShell(t, bin, "set -fu; value="+c.value+"; "+sh.Write)
		if called, err := os.ReadFile(record); err != nil || string(called) != c.called {
			t.Errorf("tc was called with %q, %v, want %q", called, err, c.called)
		}
	}
}
