package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"linerate/internal/facts"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/report"
	"linerate/internal/rules"
)

// atOnce is how many hosts are looked at together.
const atOnce = 8

// reachWithin bounds the time for one host: a dead one must not hold up the
// others.
const reachWithin = 60 * time.Second

// inspect looks at every host that was asked for. One that fails says so in
// its place; the others are still told.
func inspect(ctx context.Context, env *environment, o checkOptions) []report.HostCheck {
	switch {
	case o.from != "":
		f, err := recordedFacts(ctx, o)
		return []report.HostCheck{judge(o, o.name, f, err)}
	case len(o.hosts) == 0:
		f, err := facts.Read(ctx, kernel.Live{}, thisHost, env.now())
		return []report.HostCheck{judge(o, thisHost, f, err)}
	}
	p := newProgress(env)
	defer p.end()
	out := make([]report.HostCheck, len(o.hosts))
	slots := make(chan struct{}, atOnce)
	var wait sync.WaitGroup
	for i, name := range o.hosts {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f, err := factsOf(ctx, env, name, p)
			out[i] = judge(o, name, f, err)
		})
	}
	wait.Wait()
	return out
}

func factsOf(ctx context.Context, env *environment, name string, p *progress) (*model.Facts, error) {
	n, err := host.ParseName(name)
	if err != nil {
		return nil, err
	}
	if n.Path != "" {
		return nil, fmt.Errorf("check %s: name a host without a path (nas1, user@nas1, lab:client1)", name)
	}
	if n.Reach != host.Lab && n.Host == thisHost && n.User == "" {
		return facts.Read(ctx, kernel.Live{}, name, env.now())
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	a, err := dialHost(ctx, env, n, p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Close() }() // it has told what we want to know
	return a.Facts(ctx)
}

// recordedFacts reads a snapshot. One that was cut short is read as far as it
// goes, and says so.
func recordedFacts(ctx context.Context, o checkOptions) (*model.Facts, error) {
	h, err := snapshot.Load(filepath.Join(o.from, snapshot.FileName))
	if h == nil {
		return nil, err
	}
	taken := time.Time{}
	if m, ok := h.Manifest(); ok {
		taken = m.Taken
		if h.GOOS = m.OS; h.GOOS == "" {
			h.GOOS = "linux"
		}
	}
	f, readErr := facts.Read(ctx, h, o.name, taken)
	if readErr != nil && err != nil {
		return nil, fmt.Errorf("%w; %w", readErr, err)
	}
	if readErr != nil {
		return nil, readErr
	}
	if err != nil {
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "the rest of the snapshot", WouldShow: "what lies behind the cut", How: err.Error() + "; record it again"})
	}
	return f, nil
}

// judge applies the rules to the facts of one host.
func judge(o checkOptions, name string, f *model.Facts, err error) report.HostCheck {
	h := report.HostCheck{Name: name, Findings: []report.CheckFinding{}, CouldNotSee: []model.Blind{}}
	if err != nil {
		h.Error = firstLine(err)
		return h
	}
	h.Facts = f
	h.CouldNotSee = append(h.CouldNotSee, f.CouldNotSee...)
	why := map[string]string{}
	for _, r := range rules.All() {
		why[r.ID] = r.Doc
	}
	for _, found := range rules.Check(f, o.context) {
		h.Findings = append(h.Findings, report.NewCheckFinding(found, why[found.Rule]))
	}
	return h
}

// recordSnapshot records this host into a new folder.
func recordSnapshot(ctx context.Context, env *environment, dir string) error {
	r := snapshot.NewRecorder(kernel.Live{})
	if _, err := facts.Read(ctx, r, thisHost, env.now()); err != nil {
		return err
	}
	b, err := r.Shareable(env.now())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("record a snapshot: %w", err)
	}
	file := filepath.Join(dir, snapshot.FileName)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return exit(ExitUsage, "record a snapshot: %s is there already; name a new folder", file)
	}
	if err != nil {
		return fmt.Errorf("record a snapshot: %w", err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("record a snapshot: %w", err)
	}
	if env.json {
		return printJSON(env, map[string]any{"snapshot": file, "bytes": len(b)})
	}
	fmt.Fprintf(env.out, "%s: %d bytes. Host, server and user names, MACs and public addresses are replaced;\nprivate addresses and paths are not. Look through it before you share it, then:\n  linerate check --from %s\n", file, len(b), dir)
	return nil
}
