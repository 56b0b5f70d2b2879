package tune

import (
	"context"
	"errors"
	"testing"

	"linerate/internal/model"
)

// layers are two plans, of which the second changes again what the first changed.
func layers(t *testing.T, k *fakeKernel, tn *Tuner, second string) {
	t.Helper()
	mustApply(t, tn, plan("fake.a", "fake.b"))
	p := model.Plan{V: model.PlanVersion, ID: "p2", BootID: boot, Changes: []model.Change{{Setting: "fake.a", From: "new", To: second}}}
	mustApply(t, tn, p)
	k.want(t, map[string]string{"fake.a": second, "fake.b": "new"})
}

// What lies beneath a later change is not restored by itself, forced or not: the later change
// would put back later what the earlier one had made, and the original would be lost.
func TestUndoBeneathALaterChange(t *testing.T) {
	for _, second := range []string{"newer", "old"} {
		for _, force := range []bool{false, true} {
			k := newKernel("fake.a", "fake.b")
			tn := tuner(t, k)
			layers(t, k, tn, second)
			_, err := tn.UndoWith(context.Background(), UndoRequest{Plan: "p1", Force: force})
			var beneath *BeneathError
			if !errors.As(err, &beneath) || beneath.Plan != "p2" || beneath.Seq != 3 {
				t.Errorf("%s, force %t: %v, want the later plan named", second, force, err)
			}
			k.want(t, map[string]string{"fake.a": second, "fake.b": "old"}) // the rest is restored
			wantOpen(t, tn, 2)
			mustUndo(t, tn, "p2")
			k.want(t, map[string]string{"fake.a": "new", "fake.b": "old"})
			mustUndo(t, tn, "p1")
			k.want(t, all("old", "fake.a", "fake.b"))
		}
	}
}

// Somebody else's value over two plans: it is shown beside the value from before both of them, and
// what is forced ends there too.
func TestUndoOfLayersThatOthersChanged(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	layers(t, k, tn, "newer")
	k.values["fake.a"] = "theirs"
	_, err := tn.Undo(context.Background(), "")
	var c *ConflictError
	if !errors.As(err, &c) || c.Theirs != "theirs" || c.Original != "old" {
		t.Errorf("%v, want theirs and the original from before both plans", err)
	}
	wantOpen(t, tn, 2)
	if _, err := tn.UndoWith(context.Background(), UndoRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	k.want(t, all("old", "fake.a", "fake.b"))
	wantOpen(t, tn, 0)
}

// Where the original from before two plans is there, both are undone, and the journal says that
// nothing was written: somebody else has restored it, or the second plan itself.
func TestUndoOfLayersWhoseOriginalIsThere(t *testing.T) {
	for second, found := range map[string]string{"newer": "old", "old": ""} {
		k := newKernel("fake.a", "fake.b")
		tn := tuner(t, k)
		layers(t, k, tn, second)
		k.values["fake.a"] = "old"
		mustUndo(t, tn, "")
		k.want(t, all("old", "fake.a", "fake.b"))
		wantOpen(t, tn, 0)
		all, err := tn.History()
		if err != nil || len(all) != 3 || !all[0].Unwritten || all[1].Unwritten || !all[2].Unwritten || all[2].Found != found || k.writes != 4 {
			t.Errorf("%s: %d writes, %+v, %v", second, k.writes, all, err)
		}
	}
}

// What a restart undid has no part in it: the original is what was there before the plan of this boot.
func TestUndoOfLayersOfTwoBoots(t *testing.T) {
	for _, theirs := range []string{"theirs", "old"} {
		k := newKernel("fake.a")
		tn := tuner(t, k)
		mustApply(t, tn, plan("fake.a"))
		tn.BootID, k.values["fake.a"] = "second-boot", "mid"
		mustApply(t, tn, model.Plan{V: model.PlanVersion, ID: "p2", BootID: tn.BootID, Changes: []model.Change{{Setting: "fake.a", From: "mid", To: "newer"}}})
		k.values["fake.a"] = theirs
		_, err := tn.Undo(context.Background(), "")
		var c *ConflictError
		if !errors.As(err, &c) || c.Theirs != theirs || c.Original != "mid" {
			t.Errorf("%s: %v, want the original of this boot", theirs, err)
		}
		wantOpen(t, tn, 1)
		if _, err := tn.UndoWith(context.Background(), UndoRequest{Force: true}); err != nil {
			t.Fatal(err)
		}
		k.want(t, all("mid", "fake.a"))
		wantOpen(t, tn, 0)
	}
}

// An interface that was renamed between two plans is one place for both.
func TestSamePlace(t *testing.T) {
	eth := Entry{BootID: boot, Setting: "linux.link.mtu", Target: "if:eth0", Index: 3, Hardware: "link:02:00:00:00:00:01#77"}
	for name, c := range map[string]struct {
		change func(*Entry)
		want   bool
	}{
		"itself":             {func(*Entry) {}, true},
		"renamed":            {func(e *Entry) { e.Target = "if:lan0" }, true},
		"another setting":    {func(e *Entry) { e.Setting = "linux.link.txqueuelen" }, false},
		"another device":     {func(e *Entry) { e.Target, e.Index = "if:lan0", 4 }, false},
		"its number, reused": {func(e *Entry) { e.Target, e.Hardware = "if:lan0", "link:02:00:00:00:00:02#99" }, false},
		"made anew":          {func(e *Entry) { e.Hardware = "link:02:00:00:00:00:01#99" }, false},
		"name of another":    {func(e *Entry) { e.Index, e.Hardware = 4, "link:02:00:00:00:00:02#99" }, false},
		"address was set":    {func(e *Entry) { e.Target, e.Hardware = "if:lan0", "link:02:00:00:00:00:02#77" }, true},
		"of an older build":  {func(e *Entry) { e.Target, e.Hardware = "if:lan0", "" }, true},
		"of another boot":    {func(e *Entry) { e.Target, e.BootID = "if:lan0", "other" }, false},
	} {
		other := eth
		c.change(&other)
		if got, back := samePlace(eth, other), samePlace(other, eth); got != c.want || back != c.want {
			t.Errorf("%s: %t, and the other way %t", name, got, back)
		}
	}
	conf := Entry{BootID: boot, Setting: "linux.sysctl.net.ipv4.conf.eth0.rp_filter", Index: 3}
	lan := conf
	lan.Setting = "linux.sysctl.net.ipv4.conf.lan0.rp_filter"
	if !samePlace(conf, lan) {
		t.Error("one that its setting names is another once renamed")
	}
}
