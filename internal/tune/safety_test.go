package tune

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

func (asleep) Arm(context.Context, string, time.Duration) ([]string, error) { return nil, nil }
func (asleep) Watching(context.Context, string) (bool, error)               { return true, nil }
func (asleep) Disarm(context.Context, string) error                         { return nil }

func TestUndoToACheckpoint(t *testing.T) {
	k := newKernel("fake.a", "fake.b", "fake.c")
	tn := tuner(t, k)
	for i, id := range []string{"fake.a", "fake.b", "fake.c"} {
		p := plan(id)
		p.ID = string(rune('p' + i))
		mustApply(t, tn, p)
	}
	for _, to := range []int{-1, 4} {
		if _, err := tn.UndoWith(context.Background(), UndoRequest{To: to}); err == nil {
			t.Errorf("undid to checkpoint %d", to)
		}
	}
	res, err := tn.UndoWith(context.Background(), UndoRequest{To: 1})
	if err != nil || len(res.Entries) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	k.want(t, map[string]string{"fake.a": "new", "fake.b": "old", "fake.c": "old"})
	history, err := tn.History()
	if err != nil || len(history) != 3 || history[0].State != Applied || history[2].State != Undone || history[2].Ended.IsZero() {
		t.Errorf("history %+v, %v", history, err)
	}
	mustUndo(t, tn, "")
	k.want(t, all("old", "fake.a", "fake.b", "fake.c"))
}

func TestForceIsExplicit(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	k.values["fake.a"] = "theirs"
	_, err := tn.Undo(context.Background(), "")
	var c *ConflictError
	if !errors.As(err, &c) || !strings.Contains(err.Error(), "--force") {
		t.Fatalf("%v", err)
	}
	if _, err := tn.UndoWith(context.Background(), UndoRequest{Force: true}); err != nil {
		t.Error(err)
	}
	k.want(t, all("old", "fake.a"))
	wantOpen(t, tn, 0)
}

// A device that vanished keeps its entry open; one that came back under
// another name is found by what it is.
func TestDeviceVanishesAndReturns(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a", "fake.b"))
	k.gone["fake.b"] = true
	_, err := tn.Undo(context.Background(), "")
	if !errors.Is(err, errGone) || !strings.Contains(err.Error(), "fake.b") {
		t.Errorf("%v, want the device that is gone", err)
	}
	wantOpen(t, tn, 1)
	if k.values["fake.a"] != "old" {
		t.Error("the others were not restored")
	}
	delete(k.gone, "fake.b")
	mustUndo(t, tn, "")
	k.want(t, all("old", "fake.a", "fake.b"))
}

// The lock tells since when it is held, also after changes were counted into it.
func TestLockTellsSinceWhen(t *testing.T) {
	tn := tuner(t, newKernel("fake.a", "fake.b"))
	began := fixedClock()
	now := began
	tn.Now = func() time.Time { return now }
	counted := 0
	tn.Fault = func(step string) error {
		now = now.Add(time.Minute)
		if step != "after journal intended" {
			return nil
		}
		b, err := os.ReadFile(filepath.Join(tn.Dir, lockName))
		var h Holder
		if err = errors.Join(err, json.Unmarshal(b, &h)); err != nil {
			return err
		}
		if counted++; !h.Since.Equal(began) || !h.Counted.After(began) || h.Open != counted {
			t.Errorf("%+v after %d changes, want it held since %v", h, counted, began)
		}
		return nil
	}
	mustApply(t, tn, plan("fake.a", "fake.b"))
	if counted != 2 {
		t.Errorf("looked %d times", counted)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	tn := tuner(t, newKernel("fake.a"))
	s, err := tn.begin()
	if err != nil {
		t.Fatal(err)
	}
	_, err = tn.Apply(context.Background(), plan("fake.a"))
	var busy *BusyError
	if !errors.As(err, &busy) || !errors.Is(err, ErrBusy) || busy.Holder.PID != os.Getpid() || busy.Holder.By != "test" || !busy.Holder.Since.Equal(fixedClock()) {
		t.Errorf("%v", err)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	mustApply(t, tn, plan("fake.a"))
}

func TestLeave(t *testing.T) {
	tn := tuner(t, newKernel("fake.a"))
	if res, err := tn.Leave(context.Background()); err != nil || len(res.Removed) != 0 {
		t.Errorf("a host that has nothing: %+v, %v", res, err)
	}
	mustApply(t, tn, plan("fake.a"))
	if _, err := tn.Leave(context.Background()); !errors.Is(err, ErrOpen) || !strings.Contains(err.Error(), "fake.a of plan p1") {
		t.Errorf("%v", err)
	}
	mustUndo(t, tn, "")
	for _, name := range []string{keptName, "theirs"} {
		if err := os.WriteFile(filepath.Join(tn.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	res, err := tn.Leave(context.Background())
	if err != nil || !slices.Contains(res.Removed, keptName) || !slices.Equal(res.Kept, []string{"theirs"}) {
		t.Errorf("%+v, %v", res, err)
	}
	mustApply(t, tn, plan("fake.a")) // and it can begin anew
}

func TestOrder(t *testing.T) {
	ids := []model.Change{
		{Setting: "linux.mount.nfs.rsize", Target: "/mnt"}, {Setting: "linux.sysctl.net.ipv4.tcp_rmem"}, {Setting: "linux.ethtool.rss", Target: "b"},
		{Setting: "linux.link.mtu", Target: "b"}, {Setting: "linux.sysctl.net.core.rmem_max"}, {Setting: "linux.ethtool.channels", Target: "a"},
		{Setting: "linux.irq.affinity", Target: "b"}, {Setting: "linux.service.irqbalance"}, {Setting: "linux.link.mtu", Target: "a"}, {Setting: "linux.ethtool.channels", Target: "b"},
		{Setting: "linux.sysctl.net.ipv4.tcp_congestion_control"}, {Setting: "linux.sysctl.net.core.default_qdisc"}, {Setting: "linux.cpu.governor"}, {Setting: "linux.unheard.of"},
		{Setting: "linux.ethtool.features", Target: "a"}, {Setting: "linux.ethtool.rss", Target: "a", To: "default"}, {Setting: "any.zfs.recordsize", Target: "zfs:tank"},
	}
	want := "channels:b mtu:b rss:a channels:a mtu:a features:a irqbalance: rss:b affinity:b governor: default_qdisc: rmem_max: tcp_rmem: tcp_congestion_control: of: recordsize:zfs:tank rsize:/mnt"
	for range 2 {
		ids = Order(ids)
		var got []string
		for _, c := range ids {
			got = append(got, c.Setting[strings.LastIndexByte(c.Setting, '.')+1:]+":"+c.Target)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("\n got %s\nwant %s", s, want)
		}
	}
}

// The old journal is read, undone and continued by this version.
func TestJournalOfVersion1(t *testing.T) {
	k := newKernel("fake.a")
	k.values["fake.a"] = "new"
	tn := tuner(t, k)
	if err := os.Mkdir(tn.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	line := strings.Replace(line1, `"boot_id":"b"`, `"boot_id":"`+boot+`"`, 1)
	if err := os.WriteFile(filepath.Join(tn.Dir, journalName), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	mustUndo(t, tn, "p")
	k.want(t, all("old", "fake.a"))
	mustApply(t, tn, plan("fake.a"))
	history, err := tn.History()
	if err != nil || len(history) != 2 || history[0].V != 1 || history[1].V != 2 {
		t.Errorf("%+v, %v", history, err)
	}
}

// A plan's own writes may move what it changes later: that is no conflict.
func TestSideEffectOnALaterChange(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	k.lies["fake.a"] = func(k *fakeKernel, id, v string) error {
		k.values[id] = v
		k.values["fake.b"] = map[string]string{"new": "reset", "old": "old"}[v]
		return nil
	}
	p := plan("fake.a", "fake.b")
	p.Changes[0].Target, p.Changes[1].Target = "dev", "dev"
	res := mustApply(t, tn, p)
	if res.Entries[1].Before != "reset" {
		t.Errorf("before %q", res.Entries[1].Before)
	}
	mustUndo(t, tn, "")
	k.want(t, all("old", "fake.a", "fake.b"))
}

func TestOutcomes(t *testing.T) {
	tn := tuner(t, newKernel("fake.a", "fake.b"))
	p := plan("fake.a", "fake.b")
	p.Changes[0].Needs, p.Changes[1].Needs = "new mount", model.NeedsFlap
	want := `[{"setting":"fake.a","applied":true,"effective":"later: new mount","observed":""},{"setting":"fake.b","applied":true,"effective":"yes","observed":""}]`
	for range 2 { // the second time nothing is written
		if b, err := json.Marshal(mustApply(t, tn, p).Changes); err != nil || string(b) != want {
			t.Errorf("%s, %v", b, err)
		}
	}
	k := newKernel("fake.a")
	k.lies["fake.a"] = ignore
	res, err := tuner(t, k).Apply(context.Background(), plan("fake.a"))
	if err == nil || res.Changes[0].Applied || res.Changes[0].Effective != "no" {
		t.Errorf("%+v, %v", res, err)
	}
}

// The watcher takes what a killed process left unread for its own: a clamped
// MTU must not lock the operator out. Plain undo asks.
func TestWatcherRestoresAClampNobodyRecorded(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	tn.DeadMan = asleep{}
	p := plan("fake.a")
	p.ConfirmWithin = time.Millisecond
	k.lies["fake.a"] = clamp
	stop := errors.New("killed")
	tn.Fault = func(step string) error {
		if k.values["fake.a"] == "clamped" {
			return stop // all that follows: as if the process were gone
		}
		return nil
	}
	if _, err := tn.Apply(context.Background(), p); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	tn.Fault = nil
	var c *ConflictError
	if _, err := tn.Undo(context.Background(), ""); !errors.As(err, &c) {
		t.Errorf("plain undo: %v", err)
	}
	reset(t, tn)
	if err := tn.Watch(context.Background(), "p1"); err != nil {
		t.Error(err)
	}
	k.want(t, all("old", "fake.a"))
	wantOpen(t, tn, 0)
}

// reset takes the conflict that plain undo recorded back out of the journal.
func reset(t *testing.T, tn *Tuner) {
	t.Helper()
	path := filepath.Join(tn.Dir, journalName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:strings.IndexByte(string(b), '\n')+1], 0o600); err != nil {
		t.Fatal(err)
	}
}

// A damaged record of what waits stops a plan rather than be ignored; undo is the way out.
func TestDamagedRecordOfWhatWaits(t *testing.T) {
	for _, text := range []string{"", "{", `{"v":9}`} {
		tn := tuner(t, newKernel("fake.a"))
		mustApply(t, tn, plan("fake.a"))
		if err := os.WriteFile(filepath.Join(tn.Dir, waitingName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := plan("fake.a")
		p.ID = "p2"
		_, err1 := tn.Apply(context.Background(), p)
		_, _, err2 := tn.Waiting()
		err3 := tn.Confirm(context.Background(), "p1")
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), waitingName) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if !strings.Contains(err1.Error(), "linerate tune undo") {
			t.Errorf("%q: no way out in %v", text, err1)
		}
		mustUndo(t, tn, "")
		wantOpen(t, tn, 0)
		mustApply(t, tn, p)
	}
}
