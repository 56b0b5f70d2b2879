package snapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Recorder forwards all reads to a Source and keeps the answers. Read the facts, or a sample,
// through it; a host of its Archive then gives the same answers. The archive identifies the host:
// read it before you share it.
type Recorder struct {
	kernel.Source
	files map[string][]byte
	ports map[string]kernel.Port
}

// NewRecorder records what is read of src.
func NewRecorder(src kernel.Source) *Recorder {
	return &Recorder{Source: src, files: map[string][]byte{}, ports: map[string]kernel.Port{}}
}

// Archive is the txtar archive of all answers so far.
func (r *Recorder) Archive() ([]byte, error) {
	if len(r.ports) > 0 {
		if err := keep(r, portsFile, r.ports); err != nil {
			return nil, err
		}
	}
	return format(r.files), nil
}

func format(files map[string][]byte) []byte {
	a := &txtar.Archive{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: files[name]})
	}
	return txtar.Format(a)
}

// Shareable is the archive without what identifies the host (see Redact), with a manifest that
// reveals truncation.
func (r *Recorder) Shareable(taken time.Time, names Names) ([]byte, error) {
	if len(r.ports) > 0 {
		if err := keep(r, portsFile, r.ports); err != nil {
			return nil, err
		}
	}
	files := Redact(r.files, names)
	m := Manifest{V: 1, OS: r.OS(), Taken: taken.UTC()}
	for _, f := range txtar.Parse(markable(format(files))).Files { // as a reader will count
		m.Files++
		m.Bytes += len(f.Data)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("record the manifest: %w", err)
	}
	files[manifestFile] = append(b, '\n')
	return format(files), nil
}

// ReadFile reads and keeps a file.
func (r *Recorder) ReadFile(abs string) ([]byte, error) {
	b, err := r.Source.ReadFile(abs)
	if err == nil {
		r.files[key(abs)] = b
	}
	r.denied(abs, err)
	return b, err
}

// ReadDir lists a directory. Its entries are kept as they are read; of the list itself only an
// error is kept.
func (r *Recorder) ReadDir(abs string) ([]string, error) {
	names, err := r.Source.ReadDir(abs)
	r.denied(abs, err)
	return names, err
}

func (r *Recorder) denied(abs string, err error) {
	if errors.Is(err, fs.ErrPermission) {
		r.files[key(abs)+denyMark] = nil
	}
}

// Readlink reads and keeps a symbolic link.
func (r *Recorder) Readlink(abs string) (string, error) {
	target, err := r.Source.Readlink(abs)
	if err == nil {
		r.files[key(abs)+linkMark] = []byte(target + "\n")
	}
	return target, err
}

// KeepHostFiles keeps the host's configuration files that were read.
func (r *Recorder) KeepHostFiles(h model.HostFiles) error { return keep(r, hostFilesFile, h) }

func keep[T any](r *Recorder, file string, v T) error {
	b, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return fmt.Errorf("record %s: %w", file, err)
	}
	r.files[file] = append(b, '\n')
	return nil
}

func kept[T any](r *Recorder, file string, v T, err error) (T, error) {
	if err == nil {
		err = keep(r, file, v)
	}
	return v, err
}

func (r *Recorder) TCPConns(ctx context.Context, f kernel.TCPFilter) ([]model.Conn, error) {
	v, err := r.Source.TCPConns(ctx, f)
	return kept(r, connsFile, v, err)
}

func (r *Recorder) Ask(ctx context.Context, t kernel.Tool) ([]byte, error) {
	b, err := r.Source.Ask(ctx, t)
	if err == nil {
		r.files[toolFile(t)] = b
	}
	r.denied("/"+toolFile(t), err)
	return b, err
}

func (r *Recorder) Links(ctx context.Context) ([]kernel.Link, error) {
	v, err := r.Source.Links(ctx)
	return kept(r, linksFile, v, err)
}

func (r *Recorder) Addrs(ctx context.Context) (map[int][]netip.Prefix, error) {
	v, err := r.Source.Addrs(ctx)
	return kept(r, addrsFile, v, err)
}

func (r *Recorder) Routes(ctx context.Context) ([]model.Route, error) {
	v, err := r.Source.Routes(ctx)
	return kept(r, routesFile, v, err)
}

func (r *Recorder) Qdiscs(ctx context.Context) (map[int]model.QdiscCount, error) {
	v, err := r.Source.Qdiscs(ctx)
	return kept(r, qdiscsFile, v, err)
}

func (r *Recorder) Firewall(ctx context.Context) ([]model.FirewallChain, error) {
	v, err := r.Source.Firewall(ctx)
	r.denied("/"+firewallFile, err)
	return kept(r, firewallFile, v, err)
}

func (r *Recorder) Port(ifname string) kernel.Port {
	p := r.Source.Port(ifname)
	r.ports[ifname] = p
	return p
}
