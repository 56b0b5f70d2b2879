package loop

import (
	"context"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// History lets fakeAgent be a LiveAgent.
func (a *fakeAgent) History(context.Context) ([]tune.Entry, error) { return nil, nil }

func TestChangesAreMarked(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	read := func(at time.Time, change func(*model.Facts)) *model.Facts {
		f := &model.Facts{Taken: at, Kernel: "6.1", NICs: []model.NIC{{Name: "eth0", Speed: model.Known(10 * unit.Gbit), Up: true}},
			Settings: map[string]model.Fact[string]{"rmem": model.Known("1"), "cc": model.Known("cubic"), "secret": model.Known("1")},
			Mounts:   []model.Mount{{Source: "nas:/x", Point: "/mnt", Type: "nfs4", Options: map[string]string{"rsize": "1048576"}}, {Source: "tmpfs", Point: "/run"}}}
		change(f)
		return f
	}
	before := read(noon, func(*model.Facts) {})
	after := read(noon.Add(30*time.Second), func(f *model.Facts) {
		f.NICs[0].Speed = model.Known(unit.Gbit)
		f.Settings["rmem"], f.Settings["cc"] = model.Known("2"), model.Known("bbr")
		f.Settings["secret"] = model.Unknown[string](model.Denied, "no")
		f.Mounts[0].Options = map[string]string{"rsize": "65536"}
		f.Mounts = f.Mounts[:1]
	})
	old := tune.Entry{Seq: 1, Setting: "old", At: noon.Add(-time.Hour)}
	undone := old
	undone.Ended, undone.Before, undone.After = noon.Add(10*time.Second), "a", "b"
	got := changes("h", before, after, []tune.Entry{old}, []tune.Entry{undone, {Seq: 2, Setting: "rmem", Before: "1", After: "2", At: noon.Add(20 * time.Second)}})
	want := []watch.Mark{
		{At: noon.Add(10 * time.Second), Kind: watch.MarkUndone, Host: "h", What: "old", From: "b", To: "a"},
		{At: noon.Add(20 * time.Second), Kind: watch.MarkTuned, Host: "h", What: "rmem", From: "1", To: "2"},
		{At: after.Taken, Kind: watch.MarkHost, Host: "h", What: "eth0 speed", From: "10 Gbit/s", To: "1 Gbit/s"},
		{At: after.Taken, Kind: watch.MarkHost, Host: "h", What: "cc", From: "cubic", To: "bbr"},
		{At: after.Taken, Kind: watch.MarkHost, Host: "h", What: "mount /mnt", From: "nfs4 of nas:/x rsize=1048576", To: "nfs4 of nas:/x rsize=65536"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if again := changes("h", after, after, []tune.Entry{undone}, []tune.Entry{undone}); len(again) != 0 {
		t.Errorf("of the same: %+v", again)
	}
	// The mark lies on the controller's clock, whatever the host's shows.
	e := &liveEnd{LiveEnd: LiveEnd{Name: "h"}}
	e.add(arrival{facts: before})
	e.add(arrival{facts: after, at: 30 * time.Second})
	began := noon.Add(-time.Hour)
	if h := e.host(began, time.Minute); len(h.Marks) != 4 || !h.Marks[0].At.Equal(began.Add(30*time.Second)) {
		t.Errorf("%+v", h.Marks)
	}
	if h := e.host(began, time.Minute); len(h.Marks) != 0 {
		t.Errorf("told again: %+v", h.Marks)
	}
}
