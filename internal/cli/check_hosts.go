package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"linerate/internal/app/guide"
	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/report"
	"linerate/internal/rules"
)

// atOnce is how many hosts are looked at together.
const atOnce = 8

// reachWithin bounds the time for one host: a dead one must not hold up the
// others.
const reachWithin = 60 * time.Second

// looks are what was read of one host: once, or twice so that it shows which
// counters rise.
type looks struct{ first, last *model.Facts }

// twice looks, and looks again where that is asked for or a counter calls for
// it. A second look that fails leaves the first one.
func twice(ctx context.Context, o checkOptions, look func(context.Context) (*model.Facts, error)) (looks, error) {
	f, err := look(ctx)
	if err != nil || o.watch <= 0 || !o.always && !rules.WantsSecondLook(f) {
		return looks{last: f}, err
	}
	select {
	case <-ctx.Done():
		return looks{}, ctx.Err()
	case <-time.After(o.watch):
	}
	again, err := look(ctx)
	if err != nil {
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "the second look", WouldShow: "which counters rise", How: firstLine(err)})
		return looks{last: f}, nil
	}
	return looks{f, again}, nil
}

// inspect looks at every host that was asked for. One that fails says so in
// its place; the others are still told.
func inspect(ctx context.Context, env *environment, o checkOptions) report.Check {
	c := report.Check{V: 1, Pairs: []report.Pair{}}
	switch {
	case o.from != "":
		l, err := recordedFacts(ctx, o)
		c.Hosts = []report.HostCheck{judge(o, o.name, l, err)}
		return c
	case len(o.hosts) == 0:
		o.hosts = []string{reach.Here}
	}
	p := newProgress(env)
	defer p.End()
	seen := make([]looked, len(o.hosts))
	slots := make(chan struct{}, atOnce)
	var wait sync.WaitGroup
	for i, name := range o.hosts {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			seen[i] = lookAt(ctx, env, o, name, p)
		})
	}
	wait.Wait()
	defer func() {
		for i := range seen {
			seen[i].close()
		}
	}()
	o.lookAtSwitches(ctx, env, seen, p)
	for i, name := range o.hosts {
		c.Hosts = append(c.Hosts, judge(o, name, seen[i].looks, seen[i].err))
	}
	c.Pairs = append(c.Pairs, o.pairs(ctx, env, seen, p)...)
	return c
}

// looked is one host that was looked at; the agent, if any, still runs there.
type looked struct {
	name  host.Name
	as    string // as the user named it
	looks looks
	facts *model.Facts // the last look's
	err   error
	agent *host.Client
}

// close ends the agent: it has told what we want to know.
func (l *looked) close() {
	if l.agent != nil {
		_ = l.agent.Close()
	}
}

func (l *looked) here() bool {
	return l.name.Reach != host.Lab && l.name.Host == reach.Here && l.name.User == ""
}

func lookAt(ctx context.Context, env *environment, o checkOptions, name string, p *progress) looked {
	l := looked{as: name}
	if l.name, l.err = host.ParseName(name); l.err != nil {
		return l
	}
	if l.name.Path != "" {
		l.err = fmt.Errorf("check %s: name a host without a path (nas1, user@nas1, lab:client1)", name)
		return l
	}
	look := func(ctx context.Context) (*model.Facts, error) {
		return facts.Read(ctx, kernel.Live{}, name, env.Now())
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin+o.watch)
	defer cancel()
	if !l.here() {
		if l.agent, l.err = env.Reach(p).Dial(ctx, l.name); l.err != nil {
			return l
		}
		look = l.agent.Facts
	}
	l.looks, l.err = twice(ctx, o, look)
	l.facts = l.looks.last
	return l
}

// recordedFacts reads a snapshot, of one look or of two.
func recordedFacts(ctx context.Context, o checkOptions) (looks, error) {
	f, err := recordedLook(ctx, o, snapshot.FileName)
	if err != nil {
		return looks{}, err
	}
	again, err := recordedLook(ctx, o, snapshot.SecondName)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return looks{last: f}, nil
	case err != nil:
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "the second look of the snapshot", WouldShow: "which counters rose", How: firstLine(err)})
		return looks{last: f}, nil
	}
	return looks{f, again}, nil
}

// recordedLook reads one file of a snapshot. One that was cut short is read as
// far as it goes, and says so.
func recordedLook(ctx context.Context, o checkOptions, file string) (*model.Facts, error) {
	h, err := snapshot.Load(filepath.Join(o.from, file))
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
func judge(o checkOptions, name string, l looks, err error) report.HostCheck {
	h := report.HostCheck{Name: name, Findings: []report.CheckFinding{}, CouldNotSee: []model.Blind{}}
	if err != nil {
		h.Error = firstLine(err)
		return h
	}
	f, c := l.last, o.context
	if c.Earlier = l.first; l.first != nil {
		h.Watched = f.Taken.Sub(l.first.Taken)
	}
	h.Facts = f
	h.CouldNotSee = append(h.CouldNotSee, f.CouldNotSee...)
	why := map[string]string{}
	for _, r := range rules.All() {
		why[r.ID] = r.Doc
	}
	for _, found := range rules.Check(f, c) {
		h.Findings = append(h.Findings, report.NewCheckFinding(found, why[found.Rule]))
	}
	return h
}

// recordSnapshot records this host into a new folder: one look, and a second one
// where --watch asks for it.
func recordSnapshot(ctx context.Context, env *environment, o checkOptions) error {
	first, err := recordLook(ctx, env)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.snapshot, 0o755); err != nil {
		return fmt.Errorf("record a snapshot: %w", err)
	}
	file := filepath.Join(o.snapshot, snapshot.FileName)
	if err := writeNew(file, first); err != nil {
		return err
	}
	size := len(first)
	if o.always {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(o.watch):
		}
		again, err := recordLook(ctx, env)
		if err != nil {
			return err
		}
		if err := writeNew(filepath.Join(o.snapshot, snapshot.SecondName), again); err != nil {
			return err
		}
		size += len(again)
	}
	if env.json {
		return printJSON(env, map[string]any{"snapshot": file, "bytes": size})
	}
	fmt.Fprintf(env.out, "%s: %d bytes. Host, server and user names, MACs and public addresses are replaced;\nprivate addresses and paths are not. Look through it before you share it, then:\n  linerate check --from %s\n", file, size, o.snapshot)
	return nil
}

func recordLook(ctx context.Context, env *environment) ([]byte, error) {
	r := snapshot.NewRecorder(kernel.Live{})
	taken := env.Now()
	if _, err := facts.Read(ctx, r, reach.Here, taken); err != nil {
		return nil, err
	}
	// Through Live itself: the recorder would keep every package's list.
	files, err := guide.FilesHere(ctx)
	if err == nil {
		err = r.KeepHostFiles(files)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("record a snapshot: %w", err)
	}
	return r.Shareable(taken)
}

// writeNew writes a file that must not be there yet.
func writeNew(file string, b []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return failure.Of(failure.Usage, "record a snapshot: %s is there already; name a new folder", file)
	}
	if err != nil {
		return fmt.Errorf("record a snapshot: %w", err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("record a snapshot: %w", err)
	}
	return nil
}
