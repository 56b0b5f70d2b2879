package route

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"linerate/internal/failure"
	"linerate/internal/move"
)

const lieRoom = 256 << 10

// deep is a directory as Spots finds one.
func deep(dir, name string, i int) Spot {
	at := dir + "/" + name
	s := Spot{Name: move.Raw(at), Own: move.Raw(name), Kernel: "9a3a2f10-5f0e-4a41-9b5b-1f0c6a8e7d22", Path: move.Raw(at), Parts: []Part{{FS: "259:2", Root: move.Raw("/@data" + at)}}}
	s.Nodes = append(s.Nodes, fmt.Sprintf("259:2:%d", 1<<30+i))
	for n := range strings.Count(dir, "/") {
		s.Nodes = append(s.Nodes, fmt.Sprintf("259:2:%d", 256+n))
	}
	s.Nodes = append(s.Nodes, "0:30:256")
	return s
}

// Sources beside each other, and in directories that lie beside each other, have room by the thousand.
func TestThousandsOfSourcesTellWhereTheyLie(t *testing.T) {
	const dir = "/srv/instruments/microscope-07/acquisitions/2026/november/runs"
	for name, of := range map[string]func(i int) Spot{
		"beside each other": func(i int) Spot { return deep(dir, fmt.Sprintf("run-%06d", i), i) },
		"each in its own directory": func(i int) Spot {
			s := deep(fmt.Sprintf("%s/run-%06d", dir, i), "out", i)
			s.Nodes[1] = fmt.Sprintf("259:2:%d", 1<<29+i)
			return s
		},
	} {
		n := 3000
		if name != "beside each other" {
			n = 1500
		}
		var l Lie
		for i := range n {
			l.Spots = append(l.Spots, of(i))
		}
		got, err := l.Within(lieRoom)
		if err != nil || len(got.Spots) != n || len(got.Left) > 0 {
			t.Fatalf("%s: %d of %d sources, %v", name, len(got.Spots), n, err)
		}
		sameLie(t, got)
	}
}

func sameLie(t *testing.T, l Lie) {
	t.Helper()
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var again Lie
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(l, again) {
		t.Errorf("%.300s: became another, %v", b, err)
	}
}

// What has little in common with what is above it is told whole.
func TestOddSpotsAreReadAsTheyWere(t *testing.T) {
	k := "k"
	for _, s := range []Spot{
		{},
		{Name: "/", Kernel: k, Path: "/", Nodes: []string{"1"}, Parts: []Part{{FS: "8:1", Root: "/"}}},
		{Name: "/t", Own: "t", Kernel: k, Path: "/t", Nodes: []string{"2", "1"}, Parts: []Part{{FS: "8:1", Root: "/t"}}},
		{Name: "/a/mnt", Own: "mnt", Kernel: k, Path: "/a/mnt", Nodes: []string{"3", "2", "1"}, Parts: []Part{{FS: "8:2", Root: "/"}}},
		{Name: "/a/link", Own: "link", Kernel: k, Path: "/b/c", Nodes: []string{"3", "2", "1"}},
		{Name: "/a/c", Own: "", Kernel: k, Path: "/a/c", Nodes: []string{"3", "2", "1"}, Parts: []Part{{FS: "8:2", Root: "/x"}}},
		{Name: "/a/f", Own: "f", File: true, Kernel: k, Path: "/a", Nodes: []string{"3", "1"}, Parts: []Part{{FS: "8:2", Root: "/a"}}},
		{Name: "/n/a/b", Own: "b", Kernel: k, Path: "/n/a/b", Nodes: []string{"9", "8", "7", "1"}, Shared: []string{"nfs 9", "nfs 8", "nfs 7"}, Parts: []Part{{FS: "0:5 n:/", Root: "/a/b"}}, Below: []Part{{FS: "1", Root: "/", At: "x"}}},
		{Name: "/m/d", Own: "d", Kernel: k, Path: "/m/d", Nodes: []string{"10", "1"}, Parts: []Part{{FS: "0:9", Root: "/d"}, {FS: "8:1", Root: "/up/d"}}},
		{Name: "/n/\xff/b", Own: "b", Path: "/n/\xff/b", Nodes: []string{"9", "8", "1"}, Shared: []string{"nfs 9"}},
		{Path: "no/root", Nodes: []string{"9", "8"}},
	} {
		sameLie(t, Lie{Spots: Spots{s}})
		sameLie(t, Lie{Spots: Spots{s, s, deep("/x", "y", 1)}})
	}
}

// Mounts are left out first, where there are most; sources only then, and what is left out is counted.
func TestWhatHasNoRoomIsCounted(t *testing.T) {
	few, many := deep("/x", "few", 1), deep("/x", "many", 2)
	many.Kernel = "other"
	for i := range 4000 {
		p := Part{FS: "0:77", Root: "/", At: move.Raw(fmt.Sprintf("volumes/project-%08d/data", i))}
		if many.Below = append(many.Below, p); i < 100 {
			few.Below = append(few.Below, p)
		}
	}
	got, err := Lie{Spots: Spots{few, many}}.Within(lieRoom / 2)
	if err != nil || len(got.Spots) != 2 || len(got.Spots[0].Below) != 100 || got.Spots[1].Below != nil || !reflect.DeepEqual(got.Mounts, []string{"other"}) || got.Left != nil {
		t.Errorf("%d sources, mounts left out of %q, left %v, %v", len(got.Spots), got.Mounts, got.Left, err)
	}
	if len(many.Below) != 4000 {
		t.Error("what was given is changed")
	}
	var l Lie
	for i := range 9000 {
		s := deep("/x", strings.Repeat("n", 150)+fmt.Sprint(i), i)
		s.Shared = []string{"nfs 1 1"}
		l.Spots = append(l.Spots, s)
	}
	got, err = l.Within(lieRoom)
	if err != nil || len(got.Left) != 1 || got.Left[0].Count+len(got.Spots) != 9000 || len(got.Spots) < 500 || !got.Left[0].Shared {
		t.Errorf("%d sources, left %+v, %v", len(got.Spots), got.Left, err)
	}
	b, err := json.Marshal(got)
	if err != nil || len(b) > lieRoom {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// Where it matters what a target was not told, it refuses; elsewhere that is a doubt.
func TestATargetThatIsNotToldRefusesOnlyWhatMayBeDangerous(t *testing.T) {
	shared := Spot{Kernel: "k2", Shared: []string{"nfs"}}
	for name, c := range map[string]struct {
		of             Lie
		at             Spot
		deletes        bool
		refused, doubt bool
	}{
		"all told":                   {Lie{}, Spot{Kernel: "k2"}, true, false, false},
		"another host":               {Lie{Left: []Left{{Count: 3, Kernel: "k1"}}}, Spot{Kernel: "k2"}, false, false, true},
		"another host, deleting":     {Lie{Left: []Left{{Count: 3, Kernel: "k1"}}}, Spot{Kernel: "k2"}, true, true, false},
		"one kernel":                 {Lie{Left: []Left{{Count: 1, Kernel: "k1"}, {Count: 3, Kernel: "k2"}}}, Spot{Kernel: "k2"}, false, true, false},
		"not known here":             {Lie{Left: []Left{{Count: 3, Kernel: "k1"}}}, Spot{}, false, true, false},
		"not known there":            {Lie{Left: []Left{{Count: 3}}}, Spot{Kernel: "k2"}, false, true, false},
		"one server, perhaps":        {Lie{Left: []Left{{Count: 3, Kernel: "k1", Shared: true}}}, shared, false, true, false},
		"a server, here alone":       {Lie{Left: []Left{{Count: 3, Kernel: "k1"}}}, shared, false, false, true},
		"mounts of another host":     {Lie{Mounts: []string{"k1"}}, Spot{Kernel: "k2"}, true, false, false},
		"mounts of this one":         {Lie{Mounts: []string{"k1", "k2"}}, Spot{Kernel: "k2"}, true, false, true},
		"mounts of an unknown other": {Lie{Mounts: []string{""}}, Spot{}, false, false, false},
	} {
		l := Landing{At: c.at}
		doubt, err := l.Untold(c.of, c.deletes, lieRoom)
		if (failure.KindOf(err) == failure.Usage) != c.refused || (err != nil) != c.refused || (doubt != "") != c.doubt {
			t.Errorf("%s: %q, %v", name, doubt, err)
		}
		if err != nil && !strings.Contains(err.Error(), "256 KiB") {
			t.Errorf("%s: the bound is not named: %v", name, err)
		}
	}
}

// What another host tells is bounded in what it makes of a short line.
func TestWhereSourcesLieIsReadWithinBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"above":[{"nodes":["1"],"path":"/"}`)
	for i := range 20000 {
		fmt.Fprintf(&b, `,{"up":%d,"base":"x","nodes":["1"]}`, i+1)
	}
	b.WriteString(`],"spots":[]}`)
	for _, line := range []string{b.String(), `{"spots":[{"up":1}]}`, `{"spots":[{"up":-1}]}`, `{"above":[{"up":1}],"spots":[]}`, `{"spots":[],"more":1}`, `{"spots":[{"shell":"rm"}]}`} {
		var s Spots
		if err := json.Unmarshal([]byte(line), &s); err == nil {
			t.Errorf("%.60s is read", line)
		}
	}
}
