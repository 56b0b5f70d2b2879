package qemu

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someDep = `kernel/net/ipv4/tcp_bbr.ko:
kernel/drivers/virtio/virtio_ring.ko.xz: kernel/drivers/virtio/virtio.ko.xz
kernel/drivers/virtio/virtio.ko.xz:
kernel/net/9p/9pnet-virtio.ko.zst: kernel/net/9p/9pnet.ko kernel/drivers/virtio/virtio_ring.ko.xz kernel/drivers/virtio/virtio.ko.xz
kernel/net/9p/9pnet.ko:
kernel/lost.ko: kernel/gone.ko
kernel/onto.ko: kernel/inside.ko
kernel/chicken.ko: kernel/egg.ko
kernel/egg.ko: kernel/chicken.ko
`

func TestModulesLoadAfterWhatTheyNeed(t *testing.T) {
	dep, err := parseDep([]byte(someDep))
	if err != nil {
		t.Fatal(err)
	}
	builtin := parseBuiltin([]byte("kernel/inside.ko\nkernel/net/sched/sch-fq.ko\n"))
	for _, c := range []struct {
		wants []want
		order string // or what the error says
		fails bool
	}{
		{wants: []want{{name: "tcp_bbr"}}, order: "tcp_bbr"},
		{wants: []want{{name: "9pnet_virtio"}, {name: "virtio_ring"}}, order: "virtio virtio_ring 9pnet 9pnet_virtio"},
		{wants: []want{{name: "virtio_ring"}, {name: "9pnet_virtio"}}, order: "virtio virtio_ring 9pnet 9pnet_virtio"},
		{wants: []want{{name: "sch_fq"}, {name: "tcp_bbr"}}, order: "tcp_bbr"},
		{wants: []want{{name: "onto"}}, order: "onto"},
		{wants: []want{{name: "nowhere", optional: true}, {name: "tcp_bbr"}}, order: "tcp_bbr"},
		{wants: []want{{name: "nowhere"}}, order: "this kernel has no module nowhere", fails: true},
		{wants: []want{{name: "lost"}}, order: "this kernel has no module gone, which lost needs", fails: true},
		{wants: []want{{name: "lost", optional: true}}, order: "this kernel has no module gone, which lost needs", fails: true},
		{wants: []want{{name: "egg"}}, order: "modules egg and chicken need each other", fails: true},
	} {
		loads, err := resolve(dep, builtin, c.wants)
		var got []string
		for _, l := range loads {
			got = append(got, moduleName(l.file))
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if text != c.order || (err != nil) != c.fails {
			t.Errorf("%v: %s, want %s", c.wants, text, c.order)
		}
	}
}

func TestParametersGoWithTheirModule(t *testing.T) {
	dep, err := parseDep([]byte("a.ko: b.ko\nb.ko:\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := resolve(dep, nil, []want{{name: "a", params: "x=1 y=2"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]load{{"b.ko", ""}, {"a.ko", "x=1 y=2"}}, got, cmp.AllowUnexported(load{})); diff != "" {
		t.Error(diff)
	}
}

func TestDependenciesAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		"a.ko\n":            "line 1",
		"a.ko:\n\nb.ko\n":   "line 3",
		"/etc/a.ko:\n":      "no file",
		"a.ko: ../../b.ko":  "no file",
		"x/../../a.ko: \n":  "no file",
		"a.txt:":            "no file",
		"a.ko: b.ko passwd": "no file",
		".ko:":              "no file",
	} {
		if _, err := parseDep([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want an error with %q", text, err, says)
		}
	}
}

func FuzzParseDep(f *testing.F) {
	f.Add([]byte(someDep))
	f.Add([]byte("a.ko: b.ko\nb.ko: a.ko"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dep, err := parseDep(b)
		if err != nil {
			return
		}
		var wanted []want
		for name, m := range dep {
			if name == "" || path.IsAbs(m.file) || strings.HasPrefix(path.Join("dir", m.file), "..") || !strings.HasPrefix(path.Join("dir", m.file), "dir/") {
				t.Fatalf("module %q in file %q", name, m.file)
			}
			wanted = append(wanted, want{name: name})
		}
		loads, err := resolve(dep, nil, wanted)
		if err != nil {
			return
		}
		loaded := map[string]bool{}
		for _, l := range loads {
			name := moduleName(l.file)
			for _, n := range dep[name].needs {
				if !loaded[moduleName(n)] {
					t.Fatalf("%s is loaded before %s, which it needs", name, n)
				}
			}
			if loaded[name] {
				t.Fatalf("%s is loaded twice", name)
			}
			loaded[name] = true
		}
		if len(loaded) != len(dep) {
			t.Fatalf("%d of %d are loaded", len(loaded), len(dep))
		}
	})
}
