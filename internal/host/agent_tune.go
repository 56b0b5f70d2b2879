package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/creachadair/jrpc2"

	"linerate/internal/facts"
	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/setter"
)

// setters is the list of mechanisms by which an agent changes its host.
func (a *agent) setters() []setter.Setter {
	return []setter.Setter{
		setter.Sysctl{Root: "/"},
		setter.Features{Offloads: offloads{}, Interface: a.interfaceOf},
	}
}

// offloads is the kernel's ethtool as the setter wants it.
type offloads struct{}

// Get implements setter.Offloads.
func (offloads) Get(ifname string) (map[string]bool, error) { return kernel.ReadFeatures(ifname) }

// Set implements setter.Offloads.
func (offloads) Set(ifname string, on map[string]bool) error { return kernel.SetFeatures(ifname, on) }

// interfaceOf finds the present name of a device.
func (a *agent) interfaceOf(device string) (string, error) {
	f, err := facts.Read(context.Background(), a.src, "this host", a.o.Now())
	if err != nil {
		return "", fmt.Errorf("find device %s: %w", device, err)
	}
	for _, n := range f.NICs {
		if n.Device == device {
			return n.Name, nil
		}
	}
	return "", fmt.Errorf("find device %s: this host has %d interfaces, none of them is it", device, len(f.NICs))
}

func (a *agent) facts(ctx context.Context, p factsParams) (*model.Facts, error) {
	return facts.Read(ctx, a.src, p.Host, a.o.Now())
}

func (a *agent) readSetting(ctx context.Context, p readParams) (readResult, error) {
	for _, s := range a.tuner.Setters {
		if s.Owns(p.Setting) {
			v, err := s.Read(ctx, setter.Place{Setting: p.Setting, Target: p.Target}, p.Like)
			return readResult{v}, err
		}
	}
	return readResult{}, fmt.Errorf("read setting %q: this linerate has no mechanism for it", p.Setting)
}

func (a *agent) apply(ctx context.Context, p model.Plan) (tune.Result, error) {
	r, err := a.tuner.Apply(ctx, p)
	var not *tune.NotInForceError
	if errors.As(err, &not) {
		return r, jrpc2.Errorf(codeNotInForce, "%v", err).WithData(not)
	}
	return r, err
}

func (a *agent) undo(ctx context.Context, p undoParams) (tune.Result, error) {
	return a.tuner.Undo(ctx, p.Plan)
}

func (a *agent) openJournal(context.Context, none) ([]tune.Entry, error) {
	open, err := a.tuner.Open()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return open, err
}

// keepBinary leaves this binary beside the journal while changes are open: the
// directory it was copied to leaves with the session.
func (a *agent) keepBinary() error {
	open, err := a.openJournal(context.Background(), none{})
	if err != nil || len(open) == 0 {
		return err
	}
	if len(a.o.Self) == 0 {
		return fmt.Errorf("keep binary for %d open changes: own path is not known", len(open))
	}
	kept := filepath.Join(a.o.StateDir, "linerate")
	if err := copyFile(kept, a.o.Self[0]); err != nil {
		return fmt.Errorf("keep binary for %d open changes: %w", len(open), err)
	}
	_, err = fmt.Fprintf(a.o.Log, "%d changes are still open; kept %s to undo them\n", len(open), kept)
	return err
}

// copyFile writes an executable file beside its place and moves it there
// whole.
func copyFile(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close() // only read: a close that fails loses nothing
	dst, err := os.OpenFile(to+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
		return errors.Join(err, os.Remove(to+".new"))
	}
	return os.Rename(to+".new", to)
}
