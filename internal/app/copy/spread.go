package copy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	paths "linerate/internal/move/route"
	"linerate/internal/move/share"
)

// Spread are the options of a copy to several targets; a copy to one target has none of them.
type Spread struct {
	// Targets share the sources: each file goes to one of them.
	Targets []string
	// Guessed: the user did not say which paths are targets. So these have to be empty, or to be
	// the targets of the copy that was begun last.
	Guessed bool
}

// Spreading is how a copy to several targets went.
type Spreading struct {
	// Rounds is how many times the sources were read: once, and again after each round in which a
	// target failed.
	Rounds  int          `json:"rounds"`
	Sources []SpreadEnd  `json:"sources"`
	Targets []SpreadEnd  `json:"targets"`
	Pairs   []SpreadPair `json:"pairs"`
	// FailedBytes is what targets had received before they failed. Moved does not count it: how
	// much of it is complete is not known, and the files went to other targets, where they are
	// counted.
	FailedBytes int64 `json:"failed_bytes"`
}

// SpreadEnd is a source's host with its paths, or a target.
type SpreadEnd struct {
	Name string `json:"name"`
	// State is "done" or "failed".
	State string `json:"state"`
	Error string `json:"error,omitempty"`
	// Files and Bytes are what a target has written, or a source has sent, by its newest report; a
	// source does not count files.
	Files  int64   `json:"files"`
	Bytes  int64   `json:"bytes"`
	CPUSec float64 `json:"cpu_s"`
}

// SpreadPair is what went from a source's host to a target.
type SpreadPair struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Bytes int64   `json:"bytes"`
	Rate  float64 `json:"rate_bps"`
	// Way is "through ssh", or empty: the hosts have connections with each other.
	Way string `json:"way,omitempty"`
	// Congestion is the congestion control that its connections had; "": not known.
	Congestion string `json:"congestion,omitempty"`
}

// spreadEnd is one end of a spread.
type spreadEnd struct {
	side
	number int
	source bool
	paths  []string // as they were typed
	task   mover.Task
	closed bool  // a target that failed: it gets no more files, but is asked what it has
	out    bool  // it is left out of the copy from now on
	why    error // why it failed first

	stop   func() // of this round
	over   bool   // of this round: it has ended
	failed bool   // of this round
	// doomed: in this round the target has listed what the sources do not have; answered: it was
	// told whether to delete that.
	doomed   *mover.Event
	answered bool
	sum      SpreadEnd
	made     move.Summary // by a target, in all rounds
}

// spreading is a copy to several targets under way.
type spreading struct {
	env    app.Env
	p      app.Progress
	o      Options
	do     mover.Deed
	report *move.Report
	out    *Result
	ends   []*spreadEnd // sources, then targets
	pairs  []*spreadPair
	bytes  map[[2]int]int64  // of rounds that are over
	had    map[[2]int]string // congestion controls, of the last round
	agents map[host.Name]*host.Client
	spare  []*host.Client // agents of a second login to a host
	before int64          // bytes of earlier rounds
	took   time.Duration  // in moving
	total  move.Summary
	cpu    float64

	deleting deleting
	mu       sync.Mutex
	found    found // what could not be kept, over all rounds; a later round finds the same again
	// Files that failed in this round: a further one tries them again.
	failed lines[mover.Loss]
}

func (s *spreading) sources() []*spreadEnd {
	return slices.DeleteFunc(slices.Clone(s.ends), func(e *spreadEnd) bool { return !e.source || e.out })
}

func (s *spreading) targets() []*spreadEnd {
	return slices.DeleteFunc(slices.Clone(s.ends), func(e *spreadEnd) bool { return e.source || e.out })
}

// copySpread copies to several targets, or plans that, or compares. With an error it also returns
// what was done before.
func copySpread(ctx context.Context, e app.Env, o Options, p app.Progress, do mover.Deed) (*Result, error) {
	out := &Result{V: resultVersion, Sources: o.Sources, Warnings: []string{}, Spread: &Spreading{}}
	s := &spreading{env: e, p: p, o: o, do: do, report: out.losing(), out: out, agents: map[host.Name]*host.Client{}, bytes: map[[2]int]int64{}, had: map[[2]int]string{}}
	defer s.close()
	began := e.Now()
	if err := s.read(); err != nil {
		return nil, err
	}
	if err := s.dial(ctx, p); err != nil {
		return nil, err
	}
	for more := true; more; {
		var err error
		if more, err = s.round(ctx); err != nil {
			if s.out.Spread.Rounds == 0 {
				return nil, err
			}
			return s.ended(ctx, began, err)
		}
	}
	if do == mover.Copying && s.failed.n+s.failed.out == 0 && len(s.whys()) == 0 && s.deleting.not == nil {
		out.note(e, o, true)
	}
	return s.ended(ctx, began, nil)
}

// read gives the arguments their meaning.
func (s *spreading) read() error {
	as := map[string]string{}
	for _, arg := range s.o.Sources {
		n, path, err := placeOf(arg, false)
		if err != nil {
			return err
		}
		if err := comesTo(as, arg, path, len(s.o.Sources)); err != nil {
			return err
		}
		i := slices.IndexFunc(s.ends, func(e *spreadEnd) bool { return e.name == n })
		if i < 0 {
			i = len(s.ends)
			s.ends = append(s.ends, &spreadEnd{side: side{name: n}, source: true})
		}
		e := s.ends[i]
		e.paths, e.task.Read = append(e.paths, arg), append(e.task.Read, move.Raw(path))
	}
	targets := 0
	for _, arg := range s.o.Spread.Targets {
		n, path, err := placeOf(arg, false)
		if err != nil {
			return err
		}
		for _, e := range s.ends {
			if err := e.twice(n, path, arg); err != nil {
				return err
			}
			if err := e.contains(n, path, arg); err != nil {
				return err
			}
		}
		targets++
		s.ends = append(s.ends, &spreadEnd{side: side{name: n}, paths: []string{arg}, task: mover.Task{Write: move.Raw(paths.Plain(path) + "/")}})
	}
	if sources := len(s.ends) - targets; max(sources, targets) > share.MaxTargets {
		return failure.Of(failure.Usage, "%d hosts of sources and %d targets: want at most %d of each", sources, targets, share.MaxTargets)
	}
	for i, e := range s.ends {
		e.number, e.as = i, strings.Join(e.paths, ", ")
		e.sum = SpreadEnd{Name: e.as, State: "done"}
	}
	var pairs []*spreadPair
	for _, from := range s.sources() {
		for _, to := range s.targets() {
			pairs = append(pairs, &spreadPair{from: from, to: to})
		}
	}
	return s.through(pairs)
}

// comesTo refuses two sources that would be copied to the same name: the result would depend on
// which of them is copied first.
func comesTo(as map[string]string, arg, path string, n int) error {
	name := filepath.Base(path)
	if paths.Inside(path) {
		name = ""
	}
	if name == "" && n > 1 {
		return failure.Of(failure.Usage, "%s is one of several sources: name it without the '/' at its end, so that what they hold is told apart", arg)
	}
	if other, twice := as[name]; twice {
		return failure.Of(failure.Usage, "two sources would be copied to %s: %s and %s; copy them one after another, to different targets", name, other, arg)
	}
	as[name] = arg
	return nil
}

// contains refuses a target that lies in a source of the same host, as far as names tell.
func (e *spreadEnd) contains(n host.Name, path, arg string) error {
	if !e.source || e.name != n {
		return nil
	}
	to := filepath.Clean(path)
	for i, p := range e.task.Read {
		if in := filepath.Clean(string(p)); to == in || strings.HasPrefix(to, strings.TrimSuffix(in, "/")+"/") {
			return failure.Of(failure.Usage, "target %s lies in the source %s: it would be copied into itself", arg, e.paths[i])
		}
	}
	return nil
}

// twice refuses a target that is another one of the same host, or lies in it, as far as names tell.
func (e *spreadEnd) twice(n host.Name, path, arg string) error {
	if e.source || e.name != n {
		return nil
	}
	a, b := strings.TrimSuffix(filepath.Clean(string(e.task.Write)), "/")+"/", strings.TrimSuffix(filepath.Clean(path), "/")+"/"
	switch {
	case a == b:
		return failure.Of(failure.Usage, "target %s is named twice", arg)
	case strings.HasPrefix(a, b) || strings.HasPrefix(b, a):
		return failure.Of(failure.Usage, "of the targets %s and %s one lies in the other: name directories beside each other", e.paths[0], arg)
	}
	return nil
}

// dial starts an agent at every host, all at once.
func (s *spreading) dial(ctx context.Context, p app.Progress) error {
	d := s.env.Reach(p)
	var g errgroup.Group
	var mu sync.Mutex
	for _, e := range s.ends { // before any is dialled
		s.agents[e.name] = nil
	}
	for name := range maps.Clone(s.agents) {
		g.Go(func() error {
			a, err := d.Dial(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			if a != nil {
				s.agents[name] = a
			}
			return err
		})
	}
	err := g.Wait()
	for _, e := range s.ends {
		e.agent = s.agents[e.name]
	}
	if err != nil && ctx.Err() != nil {
		return failure.Of(failure.Interrupted, "interrupted; nothing was copied")
	}
	return err
}

// guessed tells whether the targets have to be empty.
func (s *spreading) guessed() bool {
	if !s.o.Spread.Guessed {
		return false
	}
	b, err := lastBegun(s.env)
	dir, derr := os.Getwd()
	return err != nil || derr != nil || string(b.Raw.Dir) != dir || !slices.Equal(move.Strings(b.Raw.Sources), s.o.Sources) || !slices.Equal(move.Strings(b.Raw.Targets), s.o.Spread.Targets)
}

// lost implements hearer.
func (s *spreading) lost(at *side, l mover.Loss) {
	if s.do == mover.Comparing && s.isTarget(at) {
		l.Detail = "at " + at.as + ": " + l.Detail
		s.report.Lose(clean(l.What), string(l.Path), "%s", clean(l.Detail))
		return
	}
	if l.What == move.Failed {
		s.failed.add(l)
	} else if !s.found.add(l) {
		s.report.LoseMore(clean(l.What), 1)
	}
}

// settle reports the losses of all rounds.
func (s *spreading) settle() error {
	lose := func(l mover.Loss) { s.report.Lose(clean(l.What), string(l.Path), "%s", clean(l.Detail)) }
	err := errors.Join(s.found.unique(uniqueAtOnce, lose), s.failed.each(lose))
	s.report.LoseMore(move.Failed, s.failed.out)
	if err != nil {
		err = fmt.Errorf("read what was lost: %w", err)
	}
	return errors.Join(err, s.found.close(), s.failed.close())
}

func (s *spreading) isTarget(at *side) bool {
	return slices.ContainsFunc(s.ends, func(e *spreadEnd) bool { return &e.side == at && !e.source })
}

// step implements hearer: what no target has is told by the source, all else by its target.
func (s *spreading) step(at *side, x mover.Step) {
	step := stepOf(x)
	if s.isTarget(at) {
		step.At = at.as
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := &session{o: s.o, out: s.out}
	keep.step(step)
}

// tell implements hearer: the newest is asked for when it is shown.
func (s *spreading) tell(*side, mover.Work) {}

func (s *spreading) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*partingTime)
	defer cancel()
	_ = errors.Join(s.found.close(), s.failed.close()) // what they had is told, or nobody asks for it
	for _, e := range s.ends {
		e.end(ctx)
	}
	for _, a := range s.agents {
		if a != nil {
			_ = a.Close() // it has told what we want to know
		}
	}
	for _, a := range s.spare {
		_ = a.Close()
	}
}

// end ends the mover of a round.
func (e *spreadEnd) end(ctx context.Context) {
	if e.m != nil {
		e.stop()
		_ = e.m.Stop(ctx) // the agent ends it at the latest
		e.m = nil
	}
}
