package copy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/reach"
)

// quiet is a progress that nobody watches, but for what is said.
type quiet struct{ said []string }

func (q *quiet) Say(format string, args ...any) {
	q.said = append(q.said, fmt.Sprintf(format, args...))
}
func (*quiet) Detail(string)       {}
func (*quiet) Tick(string, string) {}
func (*quiet) Live() bool          { return false }
func (*quiet) End()                {}
func (*quiet) Started() time.Time  { return time.Time{} }

// fakeEnd is a mover behind a firewall, or none.
type fakeEnd struct {
	blocked bool // what it dials is not reached
	fails   string
	told    []mover.Command
	events  chan mover.Event
	other   *fakeEnd
}

func (f *fakeEnd) Tell(_ context.Context, c mover.Command) error {
	f.told = append(f.told, c)
	switch {
	case c.Order == mover.Listen:
		f.events <- mover.Event{Kind: mover.Listening, Addr: netip.MustParseAddrPort("10.9.9.9:7001")}
	case c.Order == mover.Dial && f.blocked:
		f.events <- mover.Event{Kind: mover.Unreached, Text: "no way\x1b[31m"}
	case c.Order == mover.Dial && f.fails != "":
		f.events <- mover.Event{Kind: mover.Failed, Text: f.fails}
		f.other.events <- mover.Event{Kind: mover.Failed, Text: "the other end: " + f.fails}
	case c.Order == mover.Dial:
		f.events <- mover.Event{Kind: mover.Lost, Losses: []mover.Loss{{What: move.LostOwner, Path: []byte("a\xff"), Detail: "x\x1b"}}}
		f.events <- mover.Event{Kind: mover.Over, Work: &mover.Work{Took: time.Second}}
		f.other.events <- mover.Event{Kind: mover.Over, Work: &mover.Work{Took: 2 * time.Second}}
	}
	return nil
}

func (f *fakeEnd) Events(ctx context.Context) ([]mover.Event, error) {
	select {
	case e := <-f.events:
		return []mover.Event{e}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (f *fakeEnd) Tunnel(context.Context, int, io.ReadWriteCloser) error {
	return errors.New("no tunnel")
}
func (f *fakeEnd) PID() int                   { return 1 }
func (f *fakeEnd) Stop(context.Context) error { return nil }

func (f *fakeEnd) orders() (out []mover.Order) {
	for _, c := range f.told {
		out = append(out, c.Order)
	}
	return out
}

// fakeCopy is a copy between two fake ends.
func fakeCopy(t *testing.T, from, to *fakeEnd) (*between, *quiet) {
	t.Helper()
	p := &quiet{}
	b := &between{p: p, report: move.NewReport(nil), out: &Result{Wire: &Wire{Way: "direct"}}}
	b.from = &side{as: "client1", addr: netip.MustParseAddr("10.0.0.1")}
	b.to = &side{as: "nas1", addr: netip.MustParseAddr("10.0.0.2")}
	from.events, to.events, from.other, to.other = make(chan mover.Event, 8), make(chan mover.Event, 8), to, from
	b.hear(t.Context(), b.from, from)
	b.hear(t.Context(), b.to, to)
	t.Cleanup(b.close)
	return b, p
}

func TestWhereAPortIsBlockedTheOtherEndDials(t *testing.T) {
	from, to := &fakeEnd{blocked: true}, &fakeEnd{}
	b, p := fakeCopy(t, from, to)
	if err := b.either(t.Context(), b.from, b.to); err != nil {
		t.Fatal(err)
	}
	if got := from.orders(); !slices.Equal(got, []mover.Order{mover.Dial, mover.Listen}) {
		t.Errorf("the sender was told %v", got)
	}
	if got := to.orders(); !slices.Equal(got, []mover.Order{mover.Listen, mover.Dial}) {
		t.Errorf("the receiver was told %v", got)
	}
	// Each binds its own address and dials the other's, at the port that was bound.
	if from.told[0].At.String() != "10.0.0.2:7001" || from.told[1].At.String() != "10.0.0.1:0" || to.told[1].At.String() != "10.0.0.1:7001" || to.told[1].From != b.to.addr {
		t.Errorf("sender %+v, receiver %+v", from.told, to.told)
	}
	if b.out.Wire.Way != "direct, the other end dialled" || len(p.said) != 1 || !strings.Contains(p.said[0], "no way [31m; the other end dials") {
		t.Errorf("way %q, said %q", b.out.Wire.Way, p.said)
	}
	if counts, first, _ := b.report.Losses(); counts[move.LostOwner] != 1 || first[0].Path != "a\xff" || first[0].Detail != "x " {
		t.Errorf("losses %+v", first)
	}
	if b.from.seen().Took != 2*time.Second || b.to.seen().Took != time.Second {
		t.Error("the last word on the work was not kept")
	}
}

func TestWhereNeitherEndIsReachedTheUserIsToldWhatToDo(t *testing.T) {
	b, _ := fakeCopy(t, &fakeEnd{blocked: true}, &fakeEnd{blocked: true})
	err := b.either(t.Context(), b.from, b.to)
	var advised *failure.Advised
	if failure.KindOf(err) != failure.Usage || !errors.As(err, &advised) || advised.Next != failure.OpenPort {
		t.Errorf("%v", err)
	}
}

func TestTheFailureOfEitherEndIsTheCopys(t *testing.T) {
	b, _ := fakeCopy(t, &fakeEnd{fails: "no space"}, &fakeEnd{})
	err := b.either(t.Context(), b.from, b.to)
	if err == nil || err.Error() != "client1: no space" { // the other end only repeats it
		t.Errorf("%v", err)
	}
}

// A copy that stood still for long was not over too soon.
func TestWhyTheLimiterIsNotKnown(t *testing.T) {
	for took, want := range map[time.Duration]string{time.Second: "over too soon", time.Minute: "too little of it"} {
		now := time.Unix(0, 0)
		w := newWatched(func() time.Time { return now })
		now = now.Add(took)
		if l := w.limiter(); l.ID != model.Undetermined || !strings.Contains(l.Text, want) {
			t.Errorf("after %v: %q", took, l.Text)
		}
	}
}

func TestAFullTargetsOwnReasonIsGiven(t *testing.T) {
	own := (&side{as: "nas1"}).failed(mover.Event{Kind: mover.Failed, Text: "no space for b", Sink: true})
	told := (&side{as: "here"}).failed(mover.Event{Kind: mover.Failed, Text: "the other end: no space for a", Sink: true})
	for _, errs := range [][2]error{{own, told}, {told, own}} {
		if err := joined(errs); !errors.Is(err, move.ErrSink) || err.Error() != "nas1: no space for b" {
			t.Errorf("%v", err)
		}
	}
}

// The empty path of a variable that was not set is not the working directory, which --delete could empty.
func TestAnEmptyPathNamesNothing(t *testing.T) {
	for _, o := range []Options{{Sources: []string{""}, Target: "nas1:/x"}, {Sources: []string{"nas1:/x"}, Target: ""}} {
		b := &between{o: o, p: &quiet{}}
		if _, _, err := b.tasks(); failure.KindOf(err) != failure.Usage {
			t.Errorf("%q to %q: %v", o.Sources, o.Target, err)
		}
	}
}

func TestArgumentsNameHostsAsEverywhere(t *testing.T) {
	for arg, want := range map[string][2]string{
		"nas1:/pool/x":       {"nas1", "/pool/x"},
		"me@nas1:/":          {"me@nas1", "/"},
		"lab:client1:/a b/":  {"lab:client1", "/a b/"},
		"[fe80::1]:/pool":    {"[fe80::1]", "/pool"},
		"/local:path":        {reach.Here, "/local:path"},
		"/a/b/":              {reach.Here, "/a/b/"},
		"/a/../b/.":          {reach.Here, "/a/../b/./"},
		"/a/b/..":            {reach.Here, "/a/b/../"},
		"/a/./b//c":          {reach.Here, "/a/b/c"},
		"/":                  {reach.Here, "/"},
		"localhost:/tmp/xyz": {reach.Here, "/tmp/xyz"},
		"nas1:/a\n\xff:/b":   {"nas1", "/a\n\xff:/b"},
	} {
		n, path, err := placeOf(arg, false)
		if err != nil || n.String() != want[0] || path != want[1] {
			t.Errorf("%s: %s %q, %v", arg, n, path, err)
		}
	}
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/real", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/real", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir + "/link") // what stands before a ".." may be a link
	for arg, want := range map[string]string{".": "/link/", "..": "/link/../", "../x": "/link/../x", "x": "/link/x"} {
		if _, path, err := placeOf(arg, false); err != nil || path != dir+want {
			t.Errorf("%s: %q, %v", arg, path, err)
		}
	}
	for _, arg := range []string{"nas1:", "nas1:rel", "-x:/a", "nas\n1:/a", "nas1:\n/a"} {
		if _, _, err := placeOf(arg, false); err == nil {
			t.Errorf("%s is accepted", arg)
		}
	}
}
