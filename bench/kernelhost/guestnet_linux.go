package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// asUser makes a process an ordinary user's; 0 leaves it root.
func asUser(uid int) *syscall.SysProcAttr {
	if uid == 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// loadModules loads kernel modules by name with what they depend on.
func loadModules(names []string) error {
	for _, name := range names {
		if err := insertModuleWith(name, ""); err != nil {
			return err
		}
	}
	return nil
}

// insertModuleWith reads the line "path/name.ko: path/dependency.ko …" of
// modules.dep, whose last dependency has to be loaded first. The parameters
// are the module's own.
func insertModuleWith(name, params string) error {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err
	}
	dir := filepath.Join(umlModules, unix.ByteSliceToString(u.Release[:]))
	deps, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(deps)) {
		path, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || filepath.Base(path) != name+".ko" {
			continue
		}
		first := strings.Fields(rest)
		slices.Reverse(first)
		for _, f := range first {
			if err := insertModule(filepath.Join(dir, f), ""); err != nil {
				return err
			}
		}
		return insertModule(filepath.Join(dir, path), params)
	}
	return fmt.Errorf("load module %s: not among the kernel's modules", name)
}

func insertModule(path, params string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), params, 0); err != nil && err != unix.EEXIST {
		return fmt.Errorf("load module %s: %w", path, err)
	}
	return nil
}

type addressArgs struct {
	Dev  string `json:"dev"`
	Addr string `json:"addr"`
}

func interfaceUp(dev, addr string) error {
	link, err := netlink.LinkByName(dev)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", dev, err)
	}
	if addr != "" {
		a, err := netlink.ParseAddr(addr)
		if err != nil {
			return err
		}
		if err := netlink.AddrReplace(link, a); err != nil {
			return fmt.Errorf("give %s address %s: %w", dev, addr, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring %s up: %w", dev, err)
	}
	return nil
}

// link is what netem makes of an interface's way out.
type link struct {
	Dev   string        `json:"dev"`
	Rate  uint64        `json:"rate"` // bit/s; 0 is unshaped
	Delay time.Duration `json:"delay"`
	Loss  float64       `json:"loss"`  // percent
	Queue uint32        `json:"queue"` // packets, those on the way included
	// Segments is how many segments a packet may have: 1 has loss act on
	// what a wire would carry, and costs too much CPU for a high rate.
	Segments int `json:"segments"`
}

// shape puts the link in place of the one before.
func shape(l link) error {
	dev, err := netlink.LinkByName(l.Dev)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", l.Dev, err)
	}
	if err := netlink.LinkSetGSOMaxSegs(dev, l.Segments); err != nil {
		return fmt.Errorf("limit %s to %d segments a packet: %w", l.Dev, l.Segments, err)
	}
	attrs := netlink.QdiscAttrs{LinkIndex: dev.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	netem := netlink.NewNetem(attrs, netlink.NetemQdiscAttrs{
		Latency: uint32(l.Delay / time.Microsecond), Loss: float32(l.Loss), Rate64: l.Rate / 8, Limit: l.Queue,
	})
	if err := netlink.QdiscReplace(netem); err != nil {
		return fmt.Errorf("put netem on %s: %w", l.Dev, err)
	}
	return nil
}

// setSysctls writes files below /proc/sys and reads them back.
func setSysctls(values map[string]string) error {
	for name, want := range values {
		path := filepath.Join("/proc/sys", name)
		if err := os.WriteFile(path, []byte(want), 0); err != nil {
			return err
		}
		got, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Join(strings.Fields(string(got)), " ") != want {
			return fmt.Errorf("set %s to %q: the kernel made %q of it", name, want, bytes.TrimSpace(got))
		}
	}
	return nil
}
