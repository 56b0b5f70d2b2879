// Package kerneltest holds a fake host for tests: a txtar archive of /proc and
// /sys with canned netlink and ethtool answers, on any operating system, and a
// recorder that makes one of a running host. It refuses to invent: what the
// archive does not hold is not there.
package kerneltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/txtar"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Names of the canned answers in an archive; all are JSON.
const (
	linksFile  = "netlink/links.json"  // []kernel.Link
	addrsFile  = "netlink/addrs.json"  // link index → []netip.Prefix
	routesFile = "netlink/routes.json" // []model.Route
	qdiscsFile = "netlink/qdiscs.json" // link index → model.QdiscCount
	connsFile  = "netlink/conns.json"  // []model.Conn
	portsFile  = "netlink/ports.json"  // interface name → kernel.Port
)

// linkMark ends the name of an archive member that is a symbolic link; its
// text is the target.
const linkMark = "@"

// Host is a recorded host. It implements kernel.Source. Tests may change its
// fields between reads.
type Host struct {
	// GOOS is what OS answers.
	GOOS string
	// Files by path without the leading slash, e.g. "proc/stat"; netlink
	// answers lie under "netlink/".
	Files map[string]string
	// Fail makes every access to a path, and to all below it, fail. Netlink
	// answers are under "/netlink/links.json" and so on.
	Fail map[string]error
}

var _ kernel.Source = (*Host)(nil)

// Load reads a host from a txtar file.
func Load(file string) (*Host, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("load a recorded host: %w", err)
	}
	return Parse(b), nil
}

// Parse makes a host of a txtar archive.
func Parse(archive []byte) *Host {
	h := &Host{GOOS: "linux", Files: map[string]string{}, Fail: map[string]error{}}
	for _, f := range txtar.Parse(archive).Files {
		h.Files[f.Name] = string(f.Data)
	}
	return h
}

// OS says what the host was told to be.
func (h *Host) OS() string { return h.GOOS }

func (h *Host) fail(op, abs string) error {
	if !path.IsAbs(abs) {
		return &fs.PathError{Op: op, Path: abs, Err: fs.ErrInvalid} // a host has no working directory
	}
	for dir := path.Clean(abs); ; dir = path.Dir(dir) {
		if err := h.Fail[dir]; err != nil {
			return &fs.PathError{Op: op, Path: abs, Err: err}
		}
		if dir == "/" {
			return nil
		}
	}
}

func key(abs string) string { return strings.TrimPrefix(path.Clean("/"+abs), "/") }

// ReadFile returns a file of the archive.
func (h *Host) ReadFile(abs string) ([]byte, error) {
	if err := h.fail("open", abs); err != nil {
		return nil, err
	}
	text, ok := h.Files[key(abs)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

// ReadDir returns the sorted names below a directory.
func (h *Host) ReadDir(abs string) ([]string, error) {
	if err := h.fail("open", abs); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range h.Files {
		if rest, ok := strings.CutPrefix(name, key(abs)+"/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			names[strings.TrimSuffix(first, linkMark)] = true
		}
	}
	if len(names) == 0 {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: fs.ErrNotExist}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Readlink returns the target of a symbolic link. Like the kernel it answers
// EINVAL for what is there and no link.
func (h *Host) Readlink(abs string) (string, error) {
	if err := h.fail("readlink", abs); err != nil {
		return "", err
	}
	if target, ok := h.Files[key(abs)+linkMark]; ok {
		return strings.TrimSuffix(target, "\n"), nil
	}
	_, isFile := h.Files[key(abs)]
	if _, err := h.ReadDir(abs); err == nil || isFile {
		return "", &fs.PathError{Op: "readlink", Path: abs, Err: syscall.EINVAL}
	}
	return "", &fs.PathError{Op: "readlink", Path: abs, Err: fs.ErrNotExist}
}

// canned decodes one JSON answer of the archive.
func canned[T any](h *Host, file string) (T, error) {
	var v T
	b, err := h.ReadFile("/" + file)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, fmt.Errorf("decode %s of the recorded host: %w", file, err)
	}
	return v, nil
}

// TCPConns returns the recorded connections that f wants.
func (h *Host) TCPConns(_ context.Context, f kernel.TCPFilter) ([]model.Conn, error) {
	all, err := canned[[]model.Conn](h, connsFile)
	return slices.DeleteFunc(all, func(c model.Conn) bool { return !f.Match(c.Local, c.Remote) }), err
}

// TCPAgain returns the recorded connections that have the ends of known ones.
func (h *Host) TCPAgain(_ context.Context, known []model.Conn) ([]model.Conn, error) {
	all, err := canned[[]model.Conn](h, connsFile)
	return slices.DeleteFunc(all, func(c model.Conn) bool {
		return !slices.ContainsFunc(known, func(k model.Conn) bool { return k.Local == c.Local && k.Remote == c.Remote && k.Inode == c.Inode })
	}), err
}

// Links returns the recorded interfaces.
func (h *Host) Links(context.Context) ([]kernel.Link, error) {
	return canned[[]kernel.Link](h, linksFile)
}

// Addrs returns the recorded addresses.
func (h *Host) Addrs(context.Context) (map[int][]netip.Prefix, error) {
	return canned[map[int][]netip.Prefix](h, addrsFile)
}

// Routes returns the recorded main table.
func (h *Host) Routes(context.Context) ([]model.Route, error) {
	return canned[[]model.Route](h, routesFile)
}

// Qdiscs returns the recorded root queueing disciplines.
func (h *Host) Qdiscs(context.Context) (map[int]model.QdiscCount, error) {
	return canned[map[int]model.QdiscCount](h, qdiscsFile)
}

// Port returns what the recorded driver told; every fact of an interface that
// was not recorded is absent, or denied where Fail says so.
func (h *Host) Port(ifname string) kernel.Port {
	ports, err := canned[map[string]kernel.Port](h, portsFile)
	if errors.Is(err, fs.ErrPermission) {
		return kernel.Port{
			Driver: model.Unknown[string](model.Denied, err.Error()), Mbps: model.Unknown[int](model.Denied, err.Error()),
			Duplex:   model.Unknown[string](model.Denied, err.Error()),
			Features: model.Unknown[map[string]bool](model.Denied, err.Error()),
		}
	}
	return ports[ifname]
}
