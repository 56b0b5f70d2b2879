// Package snapshot records what is read of a host, removes what identifies it, and replays it on
// any operating system: a txtar archive of /proc and /sys with the answers of netlink and
// ethtool. It never invents: what the archive does not hold is absent, and what was denied is
// denied again. An archive is untrusted input, and its size is bounded.
package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Names of the recorded answers in an archive; all are JSON.
const (
	linksFile  = "netlink/links.json"  // []kernel.Link
	addrsFile  = "netlink/addrs.json"  // link index → []netip.Prefix
	routesFile = "netlink/routes.json" // []model.Route
	qdiscsFile = "netlink/qdiscs.json" // link index → model.QdiscCount
	connsFile  = "netlink/conns.json"  // []model.Conn
	portsFile  = "netlink/ports.json"  // interface name → kernel.Port

	firewallFile = "netlink/firewall.json" // []model.FirewallChain

	hostFilesFile = "audit/files.json" // model.HostFiles
)

// Suffixes of archive member names: of a symbolic link, whose text is the target, and of what the
// recorder was not permitted to read.
const (
	linkMark = "@"
	denyMark = "!"
)

// Bounds of an archive. A host with a thousand CPUs needs a tenth.
const (
	maxArchive = 64 << 20 // bytes
	maxMembers = 200_000
)

// FileName is the archive's name in a snapshot's folder.
const FileName = "host.txtar"

// SecondName is the archive of a second reading of the same host, a while later: the growth of
// counters between the two is what happens now.
const SecondName = "again.txtar"

// ErrDamaged is the kind of error for an archive that is truncated or malformed.
var ErrDamaged = errors.New("damaged snapshot")

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

	sorted []string // names of Files, for listings
}

var _ kernel.Source = (*Host)(nil)

// Load reads a host from a txtar file. A file that is no archive, is too large, or holds less
// than its manifest states is an error of kind ErrDamaged; in the last case the host is returned
// too, with what is left of it.
func Load(file string) (*Host, error) {
	return Folder{path: filepath.Dir(file)}.Host(filepath.Base(file))
}

// ReadPlain reads a file of a recording, of at most so many bytes: in a folder from a stranger a
// link leads to this host's files, and a FIFO never ends. Both are ErrDamaged.
func ReadPlain(file string, most int64) ([]byte, error) {
	info, err := os.Lstat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file, but %v: copy what it names in its place: %w", file, info.Mode().Type(), ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDONLY|kernel.Unblocked, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read: a close that fails loses nothing
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(fmt.Errorf("%s was replaced while it was opened", file), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s is larger than %d MiB: %w", file, most>>20, ErrDamaged)
	}
	return b, err
}

// Parse reads a host from a txtar archive.
func Parse(archive []byte) *Host {
	h := &Host{GOOS: "linux", Files: map[string]string{}, Fail: map[string]error{}}
	for _, f := range txtar.Parse(markable(archive)).Files {
		if name, denied := strings.CutSuffix(f.Name, denyMark); denied {
			h.Fail["/"+key(name)] = fs.ErrPermission
			continue
		}
		h.Files[f.Name] = string(f.Data)
	}
	return h
}

// markable is an archive that package txtar reads without a panic: it takes the line "-- --"
// for a mark with a name, and cuts that out of fewer bytes than none.
func markable(archive []byte) []byte {
	if !bytes.Contains(archive, []byte("-- --")) {
		return archive
	}
	var out []byte
	for line := range bytes.Lines(archive) {
		if string(bytes.TrimRight(line, "\r\n")) == "-- --" {
			line = append([]byte("--  --"), line[5:]...)
		}
		out = append(out, line...)
	}
	return out
}

// Manifest holds what the files of a recording do not show.
type Manifest struct {
	V     int       `json:"v"`
	OS    string    `json:"os"`
	Taken time.Time `json:"taken"`
	Files int       `json:"files"` // without the manifest
	Bytes int       `json:"bytes"` // of all of them
}

// manifestFile sorts first by name, so that it survives a truncation.
const manifestFile = "manifest.json"

// Manifest returns the recording's manifest, and whether it has one.
func (h *Host) Manifest() (Manifest, bool) {
	m, err := canned[Manifest](h, manifestFile)
	return m, err == nil && m.V == 1
}

// HostFiles returns the recorded configuration files; fs.ErrNotExist if the recording has none.
func (h *Host) HostFiles() (model.HostFiles, error) {
	var f model.HostFiles
	text, ok := h.Files[hostFilesFile]
	if !ok {
		return f, fmt.Errorf("read the recorded files of settings: %w", fs.ErrNotExist)
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return f, fmt.Errorf("read the recorded files of settings: %w", err)
	}
	return f, nil
}

// complete compares the files with the manifest. Archives written by hand have none.
func (h *Host) complete() error {
	m, ok := h.Manifest()
	if !ok {
		return nil
	}
	files, size := len(h.Files)-1+len(h.Fail), 0
	for name, text := range h.Files {
		if name != manifestFile {
			size += len(text)
		}
	}
	if files < m.Files || size < m.Bytes {
		return fmt.Errorf("the recording is cut short: %d of %d files, %d of %d bytes: %w", files, m.Files, size, m.Bytes, ErrDamaged)
	}
	return nil
}

// OS is the recorded operating system.
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

// key is a path's name in an archive. Invalid UTF-8 is replaced as JSON does, so that an
// interface's files are found by its recorded name.
func key(abs string) string {
	name := strings.TrimPrefix(path.Clean("/"+abs), "/")
	if !utf8.ValidString(name) {
		name = string([]rune(name))
	}
	return name
}

// ReadFile returns a file of the archive.
func (h *Host) ReadFile(abs string) ([]byte, error) {
	if err := h.fail("open", abs); err != nil {
		return nil, err
	}
	text, ok := h.Files[key(abs)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: fs.ErrNotExist}
	}
	if len(text) > kernel.MaxFile && !strings.HasPrefix(key(abs), "netlink/") {
		return nil, fmt.Errorf("read %s: %w", abs, kernel.ErrHugeFile)
	}
	return []byte(text), nil
}

// ReadDir returns the sorted names below a directory.
func (h *Host) ReadDir(abs string) ([]string, error) {
	if err := h.fail("open", abs); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, rest := range h.below(key(abs) + "/") {
		first, _, _ := strings.Cut(rest, "/")
		names[strings.TrimSuffix(first, linkMark)] = true
	}
	if len(names) == 0 {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: fs.ErrNotExist}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// below lists how the names that begin with prefix continue.
func (h *Host) below(prefix string) []string {
	if len(h.sorted) != len(h.Files) { // tests add and delete between reads
		h.sorted = slices.Sorted(maps.Keys(h.Files))
	}
	from, _ := slices.BinarySearch(h.sorted, prefix)
	var out []string
	for _, name := range h.sorted[from:] {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			break
		}
		if _, there := h.Files[name]; there {
			out = append(out, rest)
		}
	}
	return out
}

// Readlink returns the target of a symbolic link and, like the kernel, EINVAL for what is not a
// link.
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

// canned decodes one recorded JSON answer.
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

// toolFile is the archive name of a program's answer.
func toolFile(t kernel.Tool) string { return "tools/" + string(t) }

// Ask returns the recorded answer of a program.
func (h *Host) Ask(_ context.Context, t kernel.Tool) ([]byte, error) {
	return h.ReadFile("/" + toolFile(t))
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

// Firewall returns the recorded chains.
func (h *Host) Firewall(context.Context) ([]model.FirewallChain, error) {
	return canned[[]model.FirewallChain](h, firewallFile)
}

// Pauses returns the recorded pause frame counters.
func (h *Host) Pauses(ifname string) *model.PauseCount { return h.Port(ifname).Pauses() }

// Port returns the recorded answers of the driver. The facts of an unrecorded interface are
// absent, or denied if Fail says so.
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
