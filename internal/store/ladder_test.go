package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

func TestLastLadder(t *testing.T) {
	rate := unit.Gbit
	rungs := func(n int) []model.Rung {
		out := []model.Rung{{Rung: "memory", Measured: &rate}, {Rung: "disk", Seen: true}} // neither was measured
		for range n {
			out = append(out, model.Rung{Seen: true, Measured: &rate})
		}
		return out
	}
	run := func(id, command string, n int, hosts ...string) Summary {
		return Summary{ID: id, State: Complete, Created: time.Unix(0, 0), Command: command, Ladder: rungs(n), hosts: hosts, ceiling: &rate}
	}
	damaged := run("damaged", "explain a b", 9, "a", "b")
	damaged.State = Damaged
	list := []Summary{
		damaged,
		run("none", "explain a b", 0, "a", "b"),
		run("watched", "explain a b", 1, "a", "b"),
		run("export", "explain me@a b:/x --load", 6, "b", "me@a"),
		run("older", "explain a b --load", 6, "a", "b"),
		run("three", "load", 6, "a", "b", "c"),
		run("lab", "demo", 2, "lab:a", "lab:b"),
		run("mount", "explain /mnt/nas", 1, "filer"),
		run("earlier", "explain --attach=nas1:2049", 1, "filer"),
		run("mount before", "explain /mnt/nas", 1, "filer"),
		run("other", "explain /mnt/nas2", 1, "filer"),
		run("of the export", "explain localhost me@nas1:/films --load", 6, "nas1", "localhost"),
		run("of it by name", "explain desk nas2:/films --load", 6, "nas2", "desk"),
		run("of another export", "explain localhost nas1:/other --load", 6, "nas1", "localhost"),
		run("of another client", "explain desk2 nas3:/films --load", 6, "nas3", "desk2"),
		run("of a lab", "explain lab:desk lab:nas4:/films --load", 6, "lab:nas4", "lab:desk"),
	}
	for path, want := range map[string]string{
		"a – b": "export", "b – a": "export", "you@a – b": "export", "lab:b – lab:a": "lab", "/mnt/nas": "mount", "nas1:2049": "earlier",
		"a – c": "", "lab:x/a – lab:x/b": "", "/mnt": "", "/mnt/nas2": "other", "": "",
	} {
		got := LastLadder(list, Place{Path: path})
		if got.Run != want || got.Path != path || got.V != ClimbedVersion || (got.Run == "") != strings.Contains(got.Why, "linerate explain") || got.Rungs == nil {
			t.Errorf("%q: %+v", path, got)
		}
		if got.Run != "" && (len(got.Rungs) < 3 || got.Ceiling == nil || got.Command == "") {
			t.Errorf("%q: %+v", path, got)
		}
	}
	if got := LastLadder(list[:3], Place{Path: "a – b"}); got.Run != "watched" {
		t.Errorf("of one rung alone: %+v", got)
	}
	for of, want := range map[Place]string{
		{"/mnt/films", "desk", "nas1:/films"}: "of the export", {"/mnt/films/new", "desk", "nas2:/films"}: "of it by name", {"/mnt/films", "other", "nas2:/films"}: "",
		{"/mnt/films", "desk", "nas3:/films"}: "", {"/mnt/films", "", "nas1:/films"}: "", {"/mnt/films", "desk", "nas4:/films"}: "", {"/mnt/films", "desk", "nas1:/film"}: "",
		{"nas1:2049", "desk", ""}: "of the export", {"nas2:2049", "desk", ""}: "of it by name", {"nas2:2049", "", ""}: "", {"nas9:2049", "desk", ""}: "", {"/mnt/nas", "desk", "nas1:/nas"}: "mount",
	} {
		if got := LastLadder(list, of); got.Run != want {
			t.Errorf("%+v: %q, want %q", of, got.Run, want)
		}
	}
	if got := LastLadder(nil, Place{"/mnt/films", "desk", "nas1:/films"}); !strings.HasSuffix(got.Why, "linerate explain localhost nas1:/films --load") {
		t.Errorf("%q", got.Why)
	}
	if got := LastLadder(nil, Place{Path: "a – b"}); !strings.HasSuffix(got.Why, "linerate explain a b --load") {
		t.Errorf("%q", got.Why)
	}
}

// What is mounted where a path lies is known by the facts of its host.
func TestPlaceOfAPicture(t *testing.T) {
	facts := &model.Facts{Mounts: []model.Mount{{Point: "/", Source: "/dev/sda1"}, {Point: "/mnt/films", Source: "nas1:/films"}, {Point: "/mnt/films2", Source: "nas2:/films"}}}
	desk := watch.Host{Name: "desk", Facts: facts}
	for path, want := range map[string]string{"/mnt/films": "nas1:/films", "/mnt/films/new": "nas1:/films", "/mnt/films2": "nas2:/films", "/mnt/films3": "/dev/sda1", "nas1:2049": ""} {
		if got := PlaceOf(watch.Picture{Path: path, Hosts: []watch.Host{desk}}); got != (Place{path, "desk", want}) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	if got := PlaceOf(watch.Picture{Path: "/mnt", Hosts: []watch.Host{{Name: "desk"}}}); got != (Place{"/mnt", "desk", ""}) {
		t.Errorf("%+v", got)
	}
	if got := PlaceOf(watch.Picture{Path: "desk – nas1", Hosts: []watch.Host{desk, desk}}); got != (Place{Path: "desk – nas1"}) {
		t.Errorf("%+v", got)
	}
}

// What has an id of an earlier second is not read; what shows no time is.
func TestListSince(t *testing.T) {
	root := t.TempDir()
	noon := time.Date(2026, 11, 26, 12, 0, 0, 5e8, time.UTC)
	for _, at := range []time.Time{noon.Add(-time.Hour), noon, noon.Add(time.Hour)} {
		writeRun(t, root, "explain a b", at)
	}
	if err := os.Mkdir(filepath.Join(root, runsDir, "renamed"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := ListSince(root, noon)
	if err != nil || len(all) != 3 || all[2].ID != "renamed" || !all[1].Created.Truncate(time.Second).Equal(noon.Truncate(time.Second)) {
		t.Errorf("%+v %v", all, err)
	}
	if all, err = List(root); err != nil || len(all) != 4 {
		t.Errorf("%+v %v", all, err)
	}
}
