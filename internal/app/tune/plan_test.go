package tune

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
)

// The other end is planned along where its port takes less than this one is to
// send, and only there.
func TestALargerMTUIsPlannedAtBothEnds(t *testing.T) {
	port := func(mtu int) *model.Facts {
		return &model.Facts{NICs: []model.NIC{{Name: "lo"}, {Name: "ens5", Device: "pci:0000:05:00.0", MTU: mtu, Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")}}}}
	}
	row := func(dev, from, to string) profile.Row {
		return profile.Row{Place: profile.Place{Setting: "linux.link.mtu", Target: "pci:0000:03:00.0"}, Device: dev, Now: from, To: to, Change: true, Typed: true, Cuts: true}
	}
	for name, c := range map[string]struct {
		row    profile.Row
		there  *model.Facts
		raised bool
		far    string
	}{
		"both":                 {row("eth0", "1500", "9000"), port(1500), true, "1500 to 9000"},
		"it takes them":        {row("eth0", "1500", "9000"), port(9000), true, ""},
		"it takes more":        {row("eth0", "1500", "9000"), port(9216), true, ""},
		"lower":                {row("eth0", "9000", "1500"), port(9000), false, ""},
		"another port":         {row("eth1", "1500", "9000"), port(1500), false, ""},
		"not looked at":        {row("eth0", "1500", "9000"), nil, false, ""},
		"an address of nobody": {row("eth0", "1500", "9000"), &model.Facts{}, true, ""},
	} {
		d := &drafted{name: "nas1", now: time.Now, facts: &model.Facts{}, there: c.there, peerTo: netip.MustParseAddr("10.0.0.2"), rows: []profile.Row{c.row}, path: profile.Path{Dev: "eth0"}, wayDev: "eth0"}
		d.to = "client1"
		if c.there != nil {
			d.peer = &host.Client{}
		}
		if err := d.offPath(); (err != nil) != (name == "another port") || err != nil && failure.KindOf(err) != failure.Usage {
			t.Errorf("%s: beside the path: %v", name, err)
		}
		d.findFar()
		if raised := d.raisedMTU() != nil; raised != c.raised {
			t.Errorf("%s: raised %v", name, raised)
		}
		if c.far == "" {
			if d.far != nil || len(d.ends()) != 1 {
				t.Errorf("%s: %+v", name, d.far)
			}
			continue
		}
		if d.far == nil || d.far.Now+" to "+d.far.To != c.far || d.far.Target != "pci:0000:05:00.0" || d.far.Device != "ens5" || d.far.Typed || !d.far.Cuts {
			t.Fatalf("%s: %+v", name, d.far)
		}
		if err := d.compose(); err != nil {
			t.Fatal(err)
		}
		doc := d.plan()
		if len(doc.Plan) != 2 || doc.Plan[0].Host != "nas1" || doc.Plan[1].Host != "client1" || len(d.ends()) != 2 {
			t.Errorf("%s: %+v", name, doc.Plan)
		}
		if l := doc.Plan[1]; l.Device != "ens5" || l.From != "1500" || l.To != "9000" {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// planKeeper is an end that keeps the plans that it was asked about. It makes
// nothing of what apply does not ask for.
type planKeeper struct {
	changeable
	files, applied []model.Plan
	refuses        bool
}

func (k *planKeeper) PlanFiles(_ context.Context, p model.Plan) ([]tune.FileChange, error) {
	k.files = append(k.files, p)
	return []tune.FileChange{{Path: "/etc/sysctl.d/90-linerate.conf"}}, nil
}

func (k *planKeeper) Apply(_ context.Context, p model.Plan) (tune.Result, error) {
	if k.refuses {
		return tune.Result{}, errors.New("refused")
	}
	k.applied = append(k.applied, p)
	return tune.Result{Plan: p.ID}, nil
}

func (k *planKeeper) OpenJournal(context.Context) ([]tune.Entry, error) { return nil, nil }

// draftOf is a draft of one host with some rows, whose agent keeps the plans.
func draftOf(rows ...profile.Row) (*drafted, *planKeeper) {
	k := &planKeeper{}
	d := &drafted{name: "nas1", now: time.Now, rows: rows, facts: &model.Facts{Host: "nas1", BootID: "boot"}}
	return d, k
}

// prepared is the document that --dry-run prints. The plans then go to k.
func prepared(t *testing.T, d *drafted, k *planKeeper) Proposal {
	t.Helper()
	if err := d.compose(); err != nil {
		t.Fatal(err)
	}
	for i := range d.plans {
		d.plans[i].agent = k
	}
	doc, err := d.propose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// What is printed, what the files are made for and what is applied is one plan:
// the same changes in the same order, under one id.
func TestThePlanPrintedIsThePlanApplied(t *testing.T) {
	row := func(setting, from, to string) profile.Row {
		return profile.Row{
			Place: profile.Place{Setting: setting, Target: ""}, Change: true, Typed: true, Now: from, To: to,
			Why: "why " + setting, Source: "source", Risk: "risk", Needs: "needs", Trades: "trades", Device: "dev", Cuts: true,
		}
	}
	const rmem, wmem, max = "linux.sysctl.net.ipv4.tcp_rmem", "linux.sysctl.net.ipv4.tcp_wmem", "linux.sysctl.net.core.rmem_max"
	same := row(wmem, "1 2 3", "1 2 3")
	same.Change = false
	d, k := draftOf(row(rmem, "1 2 3", "4 5 6"), same, row(max, "1", "2"))
	d.o.Persist, d.o.Confirm = true, 7*time.Second
	doc := prepared(t, d, k)
	if _, err := d.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(k.files) != 1 || len(k.applied) != 1 || len(d.plans) != 1 || len(doc.Files) != 1 {
		t.Fatalf("files for %+v, applied %+v", k.files, k.applied)
	}
	for what, p := range map[string]model.Plan{"the files are for": k.files[0], "applied": k.applied[0]} {
		if p.ID == "" || p.ID != d.plans[0].ID || p.ConfirmWithin != 7*time.Second || p.Host != "nas1" || p.BootID != "boot" {
			t.Errorf("%s %+v", what, p)
		}
		var lines []Line
		for _, c := range p.Changes {
			lines = append(lines, lineOf("nas1", c))
		}
		if !slices.Equal(lines, doc.Plan) || len(lines) != 2 || lines[0].Setting != max {
			t.Errorf("%s\n%+v\nprinted is\n%+v", what, lines, doc.Plan)
		}
	}
	if l := doc.Plan[1]; cmp.Or(l.Trades, l.Device) == "" || !l.Typed || !l.Cuts || l.Reason != "why "+rmem || l.From != "1 2 3" {
		t.Errorf("%+v", l)
	}
}

// An end that refuses has the same plan asked of it, and nothing else.
func TestAPlanThatIsRefused(t *testing.T) {
	d, k := draftOf(profile.Row{Place: profile.Place{Setting: "linux.sysctl.net.core.rmem_max"}, Change: true, Now: "1", To: "2"})
	k.refuses = true
	doc := prepared(t, d, k)
	if _, err := d.apply(t.Context()); err == nil || len(doc.Plan) != 1 || len(k.applied) != 0 {
		t.Errorf("%v, %+v", err, doc.Plan)
	}
}

// Where no file can keep a setting, such as on a host without ethtool, nothing is said
// to be written.
func TestWhatNoFileKeepsIsNotWritten(t *testing.T) {
	no, yes := File{FileChange: tune.FileChange{Note: "install ethtool"}}, File{FileChange: tune.FileChange{Path: "/etc/x"}}
	for _, c := range []struct {
		files []File
		want  bool
	}{{nil, true}, {[]File{no}, false}, {[]File{no, yes}, true}} {
		if got := wrote(c.files); got != c.want {
			t.Errorf("%+v: %v", c.files, got)
		}
	}
}
