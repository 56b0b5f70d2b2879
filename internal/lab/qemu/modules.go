package qemu

import (
	"bufio"
	"bytes"
	"fmt"
	"path"
	"strings"
)

// Files in a directory of modules.
const (
	depFile     = "modules.dep"
	builtinFile = "modules.builtin"
)

// want is a module that the machine loads when it boots.
type want struct {
	name, params string
	optional     bool // some kernels have it under another name, or need none
}

// wants lists what makes a device host, in the order of loading. Modules that a host needs
// later it can load from the real machine's files, if these have modules of this kernel.
func wants() []want {
	return []want{
		{name: "virtio_pci"}, {name: "virtio_console"}, // the control line
		{name: "virtio_blk"}, {name: "crc32c_generic", optional: true}, {name: "ext4"}, // the machine's own files
		{name: "9pnet_virtio"}, {name: "9p"}, {name: "overlay"}, // the files below, the layer above
		{name: E1000E}, {name: VMXNet3}, {name: IGB},
		{name: "bonding", params: "max_bonds=0"}, // by default it would create a bond0
		{name: "8021q"},
		{name: "sch_fq"}, {name: "sch_fq_codel"}, {name: "sch_tbf"}, {name: "sch_netem"},
		{name: "tcp_bbr"}, {name: "tcp_htcp"},
		{name: "inet_diag"}, {name: "tcp_diag"}, // for listing sockets
	}
}

// module is one line of modules.dep: a file and those that it needs, all
// relative to the directory.
type module struct {
	file  string
	needs []string
}

// moduleName is what a file's module is called: "kernel/net/9p/9pnet-x.ko.xz"
// is 9pnet_x. To the kernel a hyphen is an underscore.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// parseDep reads modules.dep: "FILE: FILE FILE…" on each line. The result is
// keyed by name.
func parseDep(b []byte) (map[string]module, error) {
	out := map[string]module{}
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		file, needs, ok := strings.Cut(line, ":")
		m := module{file: file, needs: strings.Fields(needs)}
		if !ok {
			return nil, fmt.Errorf("line %d: want FILE: FILE…, got %.40q", n, line)
		}
		for _, f := range append([]string{file}, m.needs...) {
			if !isModuleFile(f) {
				return nil, fmt.Errorf("line %d: %.40q is no file of a module below this directory", n, f)
			}
		}
		out[moduleName(file)] = m
	}
	if err := sc.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// isModuleFile refuses a path that leads out of the directory or is no valid file name in the
// initramfs.
func isModuleFile(f string) bool {
	return f != "" && !path.IsAbs(f) && path.Clean(f) == f && !strings.HasPrefix(f, "../") &&
		!strings.ContainsAny(f, " \t\x00") && strings.Contains(path.Base(f), ".ko") && moduleName(f) != ""
}

// parseBuiltin reads modules.builtin: one file on each line, of modules that
// are part of the kernel. The result is a set of names.
func parseBuiltin(b []byte) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" {
			out[moduleName(line)] = true
		}
	}
	return out
}

// load is a module to load: its file and its parameters.
type load struct{ file, params string }

// resolve returns the wanted modules and their dependencies in an order in which they load.
// Modules that are built into the kernel are left out.
func resolve(dep map[string]module, builtin map[string]bool, wanted []want) ([]load, error) {
	r := resolver{dep: dep, builtin: builtin, state: map[string]visit{}}
	for _, w := range wanted {
		if _, ok := dep[w.name]; !ok && w.optional {
			continue
		}
		if err := r.add(w.name, w.params, ""); err != nil {
			return nil, err
		}
	}
	return r.order, nil
}

type visit int

const (
	unseen visit = iota
	entered
	placed
)

type resolver struct {
	dep     map[string]module
	builtin map[string]bool
	state   map[string]visit
	order   []load
}

func (r *resolver) add(name, params, neededBy string) error {
	m, ok := r.dep[name]
	switch {
	case r.state[name] == placed, !ok && r.builtin[name]:
		return nil
	case r.state[name] == entered:
		return fmt.Errorf("modules %s and %s need each other", name, neededBy)
	case !ok && neededBy == "":
		return fmt.Errorf("this kernel has no module %s", name)
	case !ok:
		return fmt.Errorf("this kernel has no module %s, which %s needs", name, neededBy)
	}
	r.state[name] = entered
	// modules.dep lists the direct dependency first, which has to be loaded last.
	for i := len(m.needs) - 1; i >= 0; i-- {
		if err := r.add(moduleName(m.needs[i]), "", name); err != nil {
			return err
		}
	}
	r.state[name] = placed
	r.order = append(r.order, load{m.file, params})
	return nil
}
