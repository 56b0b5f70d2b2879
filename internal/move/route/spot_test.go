package route

import (
	"strings"
	"testing"

	"linerate/internal/failure"
	"linerate/internal/move"
)

// What two ends know of a directory decides, not how it is called: one kernel, one server, or nothing.
func TestOnlyWhatIsKnownToOverlapIsRefused(t *testing.T) {
	src := Spot{Name: "/t", Kernel: "k1", Path: "/t", Nodes: []string{"8:1:9", "8:1:2"}, Parts: []Part{Part{FS: "8:1", Root: "/t"}},
		Below: []Part{{FS: "8:2", Root: "/", At: "data"}}}
	nfs := Spot{Name: "/m/t", Kernel: "k1", Path: "/m/t", Nodes: []string{"0:40:7", "0:40:2", "8:1:2"}, Shared: []string{"nfs 10.0.0.1 1 aa", "nfs 10.0.0.1 1 00"}, Parts: []Part{Part{FS: "0:40 nas:/", Root: "/t"}}}
	for name, c := range map[string]struct {
		src     Spot
		at      Spot
		rest    string
		exclude []string
		want    string
	}{
		"itself":                     {src, src, "", nil, "lies in the source"},
		"below":                      {src, Spot{Kernel: "k1", Path: "/t/x", Nodes: []string{"8:1:5", "8:1:9", "8:1:2"}}, "", nil, "lies in the source"},
		"to be made":                 {src, src, "new", nil, "lies in the source"},
		"excluded":                   {src, src, "new", []string{"/new/"}, ""},
		"below what is excluded":     {src, Spot{Kernel: "k1", Path: "/t/x", Nodes: []string{"8:1:5", "8:1:9", "8:1:2"}}, "new", []string{"/x"}, ""},
		"excluded elsewhere":         {src, src, "new", []string{"/x/new"}, "lies in the source"},
		"above":                      {src, Spot{Kernel: "k1", Path: "/", Nodes: []string{"8:1:2"}, Parts: []Part{Part{FS: "8:1", Root: "/"}}}, "", nil, ""},
		"beside":                     {src, Spot{Kernel: "k1", Path: "/to", Nodes: []string{"8:1:4", "8:1:2"}, Parts: []Part{Part{FS: "8:1", Root: "/to"}}}, "", nil, ""},
		"of another kernel":          {src, Spot{Kernel: "k2", Path: "/t/x", Nodes: src.Nodes, Parts: src.Parts}, "", nil, ""},
		"of unknown kernels":         {Spot{Nodes: src.Nodes, Parts: src.Parts}, Spot{Nodes: src.Nodes, Parts: src.Parts}, "", nil, ""},
		"bound elsewhere":            {src, Spot{Kernel: "k1", Path: "/b", Nodes: []string{"8:1:5", "8:1:2"}, Parts: []Part{Part{FS: "8:1", Root: "/t/x/y"}}}, "", nil, "lies in the source"},
		"bound elsewhere, excluded":  {src, Spot{Kernel: "k1", Path: "/b", Nodes: []string{"8:1:5", "8:1:2"}, Parts: []Part{Part{FS: "8:1", Root: "/t/x/y"}}}, "", []string{"x"}, ""},
		"mounted below":              {src, Spot{Kernel: "k1", Path: "/c", Nodes: []string{"8:2:5"}, Parts: []Part{Part{FS: "8:2", Root: "/y"}}}, "", nil, "lies in the source"},
		"mounted below, excluded":    {src, Spot{Kernel: "k1", Path: "/c", Nodes: []string{"8:2:5"}, Parts: []Part{Part{FS: "8:2", Root: "/y"}}}, "", []string{"/data/y"}, ""},
		"an export, by two":          {nfs, Spot{Kernel: "k2", Path: "/n/t/x", Nodes: []string{"0:50:8"}, Shared: []string{"nfs 10.0.0.1 1 bb", "nfs 10.0.0.1 1 aa", "nfs 10.0.0.1 1 00"}}, "", nil, "lies in the source"},
		"another server's":           {nfs, Spot{Kernel: "k2", Path: "/n/t/x", Nodes: []string{"0:40:7"}, Shared: []string{"nfs 10.0.0.2 1 bb", "nfs 10.0.0.2 1 aa"}}, "", nil, ""},
		"a server's that tells less": {Spot{Kernel: "k1", Shared: []string{""}}, Spot{Kernel: "k2", Shared: []string{""}}, "", nil, ""},
		"nothing known":              {Spot{}, Spot{}, "", nil, ""},
	} {
		l := Landing{Name: "/to", At: c.at, Rest: c.rest}
		err := l.Apart([]Spot{c.src}, false, c.exclude)
		if c.want == "" && err != nil || c.want != "" && (failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// One kernel may have two mounts of one server's file system, which share nothing that the kernel numbers.
func TestTwoMountsOfAServerAreOneDirectory(t *testing.T) {
	at := func(dev, dir string, signs ...string) Spot {
		return Spot{Name: "/m", Kernel: "k", Path: "/m/" + "x", Nodes: []string{dev + ":7", dev + ":2"}, Shared: signs,
			Parts: []Part{{FS: dev + " nas:/", Root: "/"}, {FS: "nfs 10.0.0.1", Root: "/pool" + move.Raw(dir)}}}
	}
	signs := at("0:40", "/t", "nfs 10.0.0.1 1 aa", "nfs 10.0.0.1 1 00")
	plain := at("0:40", "/t")
	bottom := Spot{Name: "/", Kernel: "k", Path: "/", Nodes: []string{"8:1:2"}, Parts: []Part{{FS: "8:1", Root: "/"}},
		Below: []Part{{FS: "0:40 nas:/", Root: "/", At: "m/t", Shared: "nfs 10.0.0.1 1 aa"}}}
	other := Spot{Kernel: "k2", Path: "/n/t", Shared: signs.Shared}
	for name, c := range map[string]struct {
		src, in Spot
		exclude []string
		refused bool
	}{
		"by handles":               {signs, at("0:50", "/else", "nfs 10.0.0.1 1 aa"), nil, true},
		"by the server's path":     {plain, at("0:50", "/t"), nil, true},
		"an export below":          {plain, at("0:50", "/t/in"), nil, true},
		"beside":                   {plain, at("0:50", "/to"), nil, false},
		"below what is copied":     {bottom, at("0:50", "/else", "nfs 10.0.0.1 1 aa"), nil, true},
		"below, of two hosts":      {bottom, other, nil, true},
		"below, which is left out": {bottom, other, []string{"/m/t"}, false},
	} {
		l := Landing{Name: "/to", At: c.in}
		if err := l.Apart([]Spot{c.src}, false, c.exclude); (failure.KindOf(err) == failure.Usage) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if c.exclude != nil {
			continue
		}
		l = Landing{Name: "/to", At: c.src, Into: []Into{{"", c.src}}}
		if err := l.Apart([]Spot{c.in}, true, nil); (failure.KindOf(err) == failure.Usage) != c.refused {
			t.Errorf("%s, deleting: %v", name, err)
		}
	}
}

// Within one host inodes suffice, where there is no /proc to tell more.
func TestOneHostNeedsNoBootID(t *testing.T) {
	src, in := Spot{Nodes: []string{"8:1:9", "8:1:2"}}, Spot{Nodes: []string{"8:1:5", "8:1:9", "8:1:2"}}
	inside, emptied := Landing{At: in}, Landing{At: src, Into: []Into{{"", src}}}
	from := []Spot{src}
	if inside.OneKernel(from); inside.Apart(from, false, nil) == nil {
		t.Error("a target in its source is not refused")
	}
	from = []Spot{in}
	if emptied.OneKernel(from); emptied.Apart(from, true, nil) == nil {
		t.Error("a source in what is emptied is not refused")
	}
}

// A mount in the target that shows a part of the source, or a file's directory, is emptied of what is not
// copied there.
func TestAMountInTheTargetThatShowsTheSourceIsNotEmptied(t *testing.T) {
	src := Spot{Name: "/t", Own: "t", Kernel: "k", Path: "/t", Nodes: []string{"8:1:9"}, Parts: []Part{{FS: "8:1", Root: "/t"}},
		Shared: []string{"nfs 10.0.0.1 1 aa"}}
	file, held := src, src
	file.File = true
	held.Below = []Part{{FS: "0:40 nas:/", Root: "/", At: "n", Shared: "nfs 10.0.0.1 1 bb"}}
	at := func(kernel, fs, root, shared string) Landing {
		return Landing{Name: "/to", Into: []Into{{"as", Spot{Kernel: kernel, Path: "/to", Nodes: []string{"8:2:1"},
			Below: []Part{{FS: fs, Root: move.Raw(root), At: "n", Shared: shared}}}}}}
	}
	for name, c := range map[string]struct {
		src     Spot
		l       Landing
		exclude []string
		refused bool
	}{
		"a part":                    {src, at("k", "8:1", "/t/in", ""), nil, true},
		"all of it":                 {src, at("k", "8:1", "/t", ""), nil, true},
		"at the same place":         {src, at("k", "8:1", "/t/n", ""), nil, false},
		"beside":                    {src, at("k", "8:1", "/to", ""), nil, false},
		"of a server, of two hosts": {src, at("k2", "8:1", "/t", "nfs 10.0.0.1 1 aa"), nil, true},
		"a server's, at one place":  {held, at("k2", "0:50 nas:/", "/", "nfs 10.0.0.1 1 bb"), nil, false},
		"of another kernel":         {src, at("k2", "8:1", "/t", ""), nil, false},
		"left out there":            {src, at("k", "8:1", "/t/in", ""), []string{"/as/n"}, false},
		"left out here":             {src, at("k", "8:1", "/t/in", ""), []string{"/t/in"}, false},
		"a file's directory":        {file, at("k", "8:1", "/t", ""), nil, true},
		"below a file's directory":  {file, at("k", "8:1", "/t/in", ""), nil, false},
	} {
		if err := c.l.Apart([]Spot{c.src}, true, c.exclude); (failure.KindOf(err) == failure.Usage) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.l.Apart([]Spot{c.src}, false, c.exclude); err != nil {
			t.Errorf("%s, nothing deleted: %v", name, err)
		}
	}
}

// What a server's signs say is told as such, with a way on for whom they deceive.
func TestARefusalTellsWhichSignsWereCompared(t *testing.T) {
	for sign, want := range map[string]string{
		"nfs 10.0.0.1 1 aa":        "the server 10.0.0.1 gives both the same file handle; if",
		"nfs ::1 of k 1 aa":        "the server ::1 gives both the same file handle; if",
		"smb 10.0.0.1 0a 34 5.006": "the server 10.0.0.1 gives both the same volume, inode and time of birth; if they are two, as of clones, name the source by another mount",
		"":                         "both names lead to one file system",
	} {
		s := Spot{Name: "/m/s", Kernel: "k1", Nodes: []string{"0:40:2"}, Shared: []string{sign}}
		in := Spot{Kernel: "k2", Path: "/n/s", Shared: []string{sign}}
		if sign == "" {
			in = s
		}
		l := Landing{Name: "/n/s", At: in}
		if err := l.Apart([]Spot{s}, false, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sign, err)
		}
	}
}

// What lies in a directory at a path that is not known is not called the directory itself.
func TestAPathThatIsNotKnownIsItsOwnState(t *testing.T) {
	top, in := Spot{Name: "/t", Kernel: "k", Nodes: []string{"8:1:9", "8:1:2"}}, Spot{Name: "/t/in", Kernel: "k", Nodes: []string{"8:1:5", "8:1:9", "8:1:2"}}
	inside, emptied := Landing{Name: "/to", At: Spot{}, Into: []Into{{"as", in}}}, Landing{Name: "/to", Into: []Into{{"", top}}}
	for want, err := range map[string]error{
		"./as in target /to lies in the source /t: ":      inside.Apart([]Spot{top}, false, []string{"/in"}),
		"the source /t/in lies in the target, and would ": emptied.Apart([]Spot{in}, true, []string{"/in"}),
	} {
		if failure.KindOf(err) != failure.Usage || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A source in a directory that is emptied of what the source lacks is refused, a single file's too.
func TestASourceInWhatIsEmptiedIsRefused(t *testing.T) {
	top := Spot{Kernel: "k", Path: "/t", Nodes: []string{"8:1:9", "8:1:2"}, Parts: []Part{Part{FS: "8:1", Root: "/t"}}}
	in := Spot{Name: "/t/in", Kernel: "k", Path: "/t/in", Nodes: []string{"8:1:5", "8:1:9", "8:1:2"}, Parts: []Part{Part{FS: "8:1", Root: "/t/in"}}}
	file := in
	file.File = true
	for name, c := range map[string]struct {
		src     Spot
		deletes bool
		exclude []string
		refused bool
	}{
		"deleted":         {in, true, nil, true},
		"a file's":        {file, true, nil, true},
		"excluded":        {in, true, []string{"/in/"}, false},
		"other excluded":  {in, true, []string{"*.tmp"}, true},
		"nothing deleted": {in, false, nil, false},
	} {
		l := Landing{Name: "/t", At: top, Into: []Into{{"", top}}}
		if err := l.Apart([]Spot{c.src}, c.deletes, c.exclude); (failure.KindOf(err) == failure.Usage) != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	// "src" comes to lie at /t/src: nothing else of /t is emptied. But /t/in is itself there.
	l := Landing{Name: "/t", At: top, Into: []Into{{"src", Spot{Kernel: "k", Path: "/t/src", Nodes: []string{"8:1:6", "8:1:9"}}}}}
	if err := l.Apart([]Spot{in}, true, nil); err != nil {
		t.Error(err)
	}
	l.Into = []Into{{"in", in}}
	if err := l.Apart([]Spot{in}, false, nil); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "same directory") {
		t.Error(err)
	}
}
