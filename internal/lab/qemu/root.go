package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/kernel"
)

// InitPath is the path of the running init program once EnterRoot is done.
const InitPath = "/run/linerate/init"

// newRoot is where the machine's file tree is mounted before it becomes the root.
const newRoot = "/new"

// EnterRoot is the first thing that init does in the machine. It loads the modules, mounts the
// real machine's files read-only below a layer on the machine's disk, and makes that the root,
// with /proc, /sys, /dev, /run and /tmp of its own. It changes the root of the whole process.
// Afterwards the network cards have their drivers; they are down, as is lo.
func EnterRoot() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("enter root of the machine: this is process %d, not its first", os.Getpid())
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"name the machine", nameMachine},
		{"load modules", loadModules},
		{"mount files", mountFiles},
		{"mount system", mountSystem},
		{"keep init", keepInit},
		{"switch root", func() error { return kernel.SwitchRoot(newRoot) }},
		{"set PATH", setPath},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("enter root of the machine: %s: %w", step.name, err)
		}
	}
	return nil
}

func nameMachine() error {
	b, err := os.ReadFile("/" + hostnameFile)
	if err != nil {
		return err
	}
	return kernel.SetHostname(strings.TrimSpace(string(b)))
}

func loadModules() error {
	b, err := os.ReadFile("/" + orderFile)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		file, params, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := kernel.LoadModule(filepath.Join("/", modulesDir, file), params); err != nil {
			return err
		}
	}
	return nil
}

// mountFiles mounts the machine's file tree. It assumes that the real machine's files do not
// change while the emulated machine runs, which caches what it has read.
func mountFiles() error {
	const outside, own = "/outside", "/own"
	for _, m := range []kernel.Mount{
		{Source: "devtmpfs", Target: "/dev", Type: "devtmpfs"},
		{Source: rootTag, Target: outside, Type: "9p", ReadOnly: true, Options: "trans=virtio,version=9p2000.L,msize=524288,cache=loose"},
		{Source: diskDevice, Target: own, Type: "ext4"},
	} {
		if err := m.Do(); err != nil {
			return err
		}
	}
	for _, dir := range []string{own + "/upper", own + "/work"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return kernel.Mount{
		Source: "overlay", Target: newRoot, Type: "overlay",
		Options: fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", outside, own, own),
	}.Do()
}

func mountSystem() error {
	for _, m := range []kernel.Mount{
		{Source: "proc", Target: "/proc", Type: "proc"},
		{Source: "sysfs", Target: "/sys", Type: "sysfs"},
		{Source: "cgroup2", Target: "/sys/fs/cgroup", Type: "cgroup2"},
		{Source: "devtmpfs", Target: "/dev", Type: "devtmpfs"},
		{Source: "devpts", Target: "/dev/pts", Type: "devpts", Options: "ptmxmode=0666,mode=0620"},
		{Source: "tmpfs", Target: "/dev/shm", Type: "tmpfs", Options: "mode=1777"},
		{Source: "tmpfs", Target: "/run", Type: "tmpfs", Options: "mode=0755"},
		{Source: "tmpfs", Target: "/tmp", Type: "tmpfs", Options: "mode=1777"},
	} {
		m.Target = newRoot + m.Target
		if err := m.Do(); err != nil {
			return err
		}
	}
	return nil
}

// keepInit makes the running program a file of the new root, from where it starts itself in
// other roles.
func keepInit() error {
	to := newRoot + InitPath
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, nil, 0o755); err != nil {
		return err
	}
	return kernel.Mount{Source: "/" + initName, Target: to, Bind: true}.Do()
}

// setPath sets PATH, which the kernel does not give to init.
func setPath() error {
	return os.Setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}
