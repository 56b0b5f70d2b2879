package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

const (
	capOfTest  = 32 * unit.MiB
	fileOfTest = 4 * capOfTest
)

// A host with less memory than a file cannot hold the file in its page cache.
func TestMemoryCap(t *testing.T) {
	needRights(t)
	hierarchies, err := kernel.CgroupHierarchies("/")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(hierarchies, func(h kernel.Hierarchy) bool { return slices.Contains(h.Controllers, "memory") }) {
		t.Skip("no memory controller of a cgroup to be had")
	}
	topo, err := topology.Find("back-to-back")
	if err != nil {
		t.Fatal(err)
	}
	for i := range topo.Hosts {
		if topo.Hosts[i].Name == "client1" {
			topo.Hosts[i].Memory = capOfTest
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	l, err := Up(ctx, topo.Scaled(false), selfOptions(filepath.Join(t.TempDir(), "state")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	// Not below /tmp, which is often memory: the files would fill it.
	dir, err := os.MkdirTemp("/var/tmp", "linerate-memory-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	capped := residentIn(ctx, t, l, "client1", "lab-test-cache", dir)
	free := residentIn(ctx, t, l, "server1", "lab-test-cache", dir)
	if capped > capOfTest || free != fileOfTest {
		t.Errorf("of a file of %v the host with %v holds %v, the one without a cap %v", fileOfTest, capOfTest, capped, free)
	}
}

// residentIn runs a helper in a host that reads a file and prints how many
// bytes of it memory holds then.
func residentIn(ctx context.Context, t *testing.T, l *Lab, host, role, dir string) unit.Bytes {
	t.Helper()
	out, err := l.Run(ctx, host, slices.Concat(l.Program(host), []string{role, dir})...)
	if err != nil {
		t.Fatalf("%s: %v: %s", host, err, out)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return unit.Bytes(n)
}

// cache writes and reads a file below dir and prints how much of it memory
// holds.
func cache(dir string) error {
	f, err := os.CreateTemp(dir, "cache")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, unit.MiB)
	for range fileOfTest / unit.MiB {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	for at := int64(0); at < int64(fileOfTest); at += int64(len(block)) {
		if _, err := f.ReadAt(block, at); err != nil {
			return err
		}
	}
	n, err := resident(f)
	if err != nil {
		return err
	}
	fmt.Println(n)
	return nil
}

// resident counts the bytes of f that memory holds: mincore(2).
func resident(f *os.File) (int64, error) {
	m, err := unix.Mmap(int(f.Fd()), 0, int(fileOfTest), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, err
	}
	page := os.Getpagesize()
	in := make([]byte, len(m)/page)
	if _, _, no := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&in[0]))); no != 0 {
		return 0, errors.Join(no, unix.Munmap(m))
	}
	var n int64
	for _, b := range in {
		n += int64(b&1) * int64(page)
	}
	return n, unix.Munmap(m)
}

// capped is cache in a group of the unified hierarchy of this kernel.
func capped(dir string) (err error) {
	if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0); err != nil {
		return err
	}
	hierarchies, err := kernel.CgroupHierarchies("/")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(hierarchies, func(h kernel.Hierarchy) bool { return h.V2 && slices.Contains(h.Controllers, "memory") })
	if i < 0 {
		return fmt.Errorf("no memory controller in %+v", hierarchies)
	}
	g, err := kernel.MakeCgroup(hierarchies[i], "capped", nil)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, os.WriteFile("/sys/fs/cgroup/cgroup.procs", []byte("0"), 0), g.Remove(5*time.Second))
	}()
	if err := errors.Join(g.LimitMemory(hierarchies[i], capOfTest), g.Join(os.Getpid())); err != nil {
		return err
	}
	return cache(dir)
}
