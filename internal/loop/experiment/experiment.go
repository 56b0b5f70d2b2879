package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/load"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/drive"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
)

// Agent is what an experiment needs of a host.
type Agent interface {
	measure.End
	Facts(ctx context.Context) (*model.Facts, error)
	Thermal(ctx context.Context) (model.Thermal, error)
	ReadSetting(ctx context.Context, setting, target, like string) (string, error)
	Apply(ctx context.Context, p model.Plan) (tune.Result, error)
	Confirm(ctx context.Context, planID string) error
	Undo(ctx context.Context, planID string) (tune.Result, error)
	OpenJournal(ctx context.Context) ([]tune.Entry, error)
	ProbePath(ctx context.Context, to netip.Addr, size int) error
	Close() error
}

// Host is one host of a study.
type Host struct {
	Name string // as the study file has it
	At   string // how it is reached, e.g. lab:client1; its facts go by it
	// Dial connects to it, also again after its agent died.
	Dial func(ctx context.Context) (Agent, error)

	tried bool // to reach it, in this session
	agent Agent
	first *model.Facts  // its facts before any change, perhaps of an earlier session
	base  *model.Facts  // its facts at the start of this session, or after a restart
	last  *model.Facts  // its facts before the latest run
	warm  model.Thermal // its temperatures then
}

// Director decides from the runs so far which comes next: a drive.Drive.
type Director interface {
	Add(r model.StudyRun) error
	Next(spent time.Duration) (drive.Want, bool)
	GiveUp(factor, level, conclusion, why string) error
	Ended() (why string, complete bool)
}

// Record records what happens; each record is on disk before the study goes on.
type Record interface {
	Put(e store.StudyEntry) error
	PutFacts(f *model.Facts) error
	Facts(host string) (*model.Facts, error)
	PutSamples(label string, samples map[string][]model.Sample) error
}

// Operator makes by hand the changes that linerate cannot.
type Operator interface {
	// Do asks for some work and returns when the operator reports it as done; false: the
	// operator will not do it.
	Do(ctx context.Context, instruct string) (done bool, err error)
}

// Lab does the operator's work if the hosts belong to a lab. It keeps each change under a
// name, so that a study which was killed finds it again.
type Lab interface {
	// Make makes a change in the words of the file, unless it is made already.
	Make(ctx context.Context, name string, words []string) error
	// Made returns the names of the changes in force.
	Made(ctx context.Context) ([]string, error)
	// TakeBack undoes the change of a name, if it is in force.
	TakeBack(ctx context.Context, name string) error
}

// Experiment is one study in progress. Every field but Operator, Lab, Say, After and Past is
// needed.
type Experiment struct {
	ID       string // prefix of every plan's id, by which its changes are recognised
	File     model.StudyFile
	Hosts    []*Host
	Director Director
	Record   Record
	Operator Operator // nil: there is none, and a level that needs one is not tried
	Lab      Lab      // nil: the hosts are not those of one lab
	// Route is the data path between two hosts of the study, by their names.
	Route func(ctx context.Context, from, to *Host) (a, b netip.Addr, err error)
	// Copy makes one run of a workload of kind copy over the data path a to b; nil: the study
	// has none. Its samples go by the hosts' At.
	Copy func(ctx context.Context, label string, w model.StudyWorkload, from, to *Host, a, b netip.Addr) (model.Run, error)
	Now  func() time.Time
	Say  func(what string)
	// After is called with every run once it is on record; may be nil.
	After func(r model.StudyRun)
	// Past is the record of a study that is resumed.
	Past *store.StudyPast
	// Anew resumes the study although the hosts have changed; earlier runs then do not count.
	Anew bool

	runs      []model.StudyRun // on record
	past      []model.StudyRun // earlier runs for the director when a study is resumed
	stack     []layer
	plans     int
	routes    map[[2]string][2]netip.Addr
	reverted  []model.StudyAdvice
	originals map[place]string // values of settings before the study changed them
	clocks    map[string]clockSeen
	skipped   map[string]bool          // levels that the operator will not make
	waited    time.Duration            // for the operator, in this run; not charged to the budget
	patience  time.Duration            // how long a host may not answer; 0: redialTime
	rows      map[string][]profile.Row // cached rows of plans
}

// Outcome is the outcome of a study.
type Outcome struct {
	Runs  []model.StudyRun
	Facts map[string]*model.Facts // before the first change, by Host.At
	// Reverted lists the changes that were made; if Restored, all were undone.
	Reverted []model.StudyAdvice
	Restored bool
	Left     []string // what is not as it was
	Ended    string
}

// maxInARow successive runs that do not count end a study: their cause does not go away by
// itself. The director gives up a level after five, so they belong to at least three levels.
const maxInARow = 12

// restoreTime bounds the undo of everything, which also happens after the study was cancelled.
const restoreTime = 2 * time.Minute

// Run makes the study. The outcome is never nil and has all recorded runs. However it ends, it
// has undone every change and compared the hosts with their facts at the beginning, unless
// Restored is false; Left says what differs.
//
// Errors: *ChangedHostError, a study that is cancelled, runs that never count, a
// host that cannot be reached any more, a record that cannot be written.
func (x *Experiment) Run(ctx context.Context) (out *Outcome, err error) {
	x.routes = map[[2]string][2]netip.Addr{}
	x.skipped = map[string]bool{}
	x.clocks = map[string]clockSeen{}
	out = &Outcome{Facts: map[string]*model.Facts{}}
	defer x.hangUp()
	defer func() { err = x.conclude(ctx, out, err) }()
	if err := x.begin(ctx); err != nil {
		return out, err
	}
	out.Ended, err = x.drive(ctx)
	return out, err
}

// drive makes one run after the other until the director has no more.
func (x *Experiment) drive(ctx context.Context) (ended string, err error) {
	var spent time.Duration
	for _, r := range x.runs {
		spent += r.Took
	}
	for inARow := 0; ; {
		want, more := x.Director.Next(spent)
		if !more {
			why, _ := x.Director.Ended()
			return why, nil
		}
		run, err := x.one(ctx, want.Run())
		if err != nil {
			return "", err
		}
		if err := x.keep(run); err != nil {
			return "", err
		}
		spent += run.Took
		if inARow++; run.Counted || x.settled(run) {
			inARow = 0
			continue
		}
		x.say("run %d does not count: %s", run.N, run.Why)
		if inARow >= maxInARow {
			return "", fmt.Errorf("make run %d: %d runs in a row do not count, the last because %s: see to that", run.N, inARow, run.Why)
		}
	}
}

// keep records a run and passes it to the director.
func (x *Experiment) keep(run model.StudyRun) error {
	if err := x.Record.Put(store.StudyEntry{Kind: store.StudyRan, At: x.Now(), Run: &run}); err != nil {
		return err
	}
	x.runs = append(x.runs, run)
	if err := x.Director.Add(run); err != nil {
		return err
	}
	if x.After != nil {
		x.After(run)
	}
	return nil
}

// settled reports whether a run failed because of its level, so that it is not repeated.
func (x *Experiment) settled(r model.StudyRun) bool {
	return r.Effective != nil && !*r.Effective || x.skipped[r.Factor+" "+r.Level]
}

// one makes one run, which may fail. An error concerns the study as a whole, which cannot go
// on.
func (x *Experiment) one(ctx context.Context, run model.StudyRun) (model.StudyRun, error) {
	run.N = len(x.runs) + 1
	run.Label, run.Started, x.waited = fmt.Sprintf("run %d", run.N), x.Now(), 0
	err := x.attempt(ctx, &run)
	run.Took = x.Now().Sub(run.Started) - x.waited
	var not *notInForceError
	switch {
	case err == nil:
		return run, nil
	case ctx.Err() != nil:
		return run, context.Cause(ctx)
	case errors.As(err, &not) && not.skipped:
		if err := x.Director.GiveUp(not.factor, not.level, model.StudyNotTried, not.why); err != nil {
			return run, err
		}
	case errors.As(err, &not):
		no := false
		run.Effective, run.Value = &no, nil
	}
	run.Counted, run.Why = false, err.Error()
	var unkept *recordError
	var baseless *baselineError
	if errors.As(err, &unkept) || errors.As(err, &baseless) {
		return run, err
	}
	return run, x.recover(ctx)
}

// attempt puts the hosts into the state of a run and makes it. A run with an error
// does not count.
func (x *Experiment) attempt(ctx context.Context, run *model.StudyRun) error {
	want, w, err := x.wanted(run)
	if err != nil {
		return err
	}
	if err := x.reach(ctx, want, w); err != nil {
		return err
	}
	if err := x.ready(ctx); err != nil {
		return err
	}
	x.say("%s", describe(*run, w))
	m, err := x.measure(ctx, run.Label, w)
	if err != nil {
		return x.refusedLoad(run, err)
	}
	m.fill(run, w)
	if err := x.Record.PutSamples(run.Label, m.thinned()); err != nil {
		return &recordError{err}
	}
	warmth, err := x.tooWarm(ctx, m)
	if err != nil {
		return err
	}
	if run.Why = joined(x.doubt(m), warmth); run.Why != "" {
		return nil
	}
	if err := x.stillInForce(ctx); err != nil {
		run.Why = err.Error()
		return nil
	}
	if len(run.Levels) > 0 || run.Factor != "" {
		seen, why := x.inForce(m, w, run)
		run.Effective = &seen
		if run.Why = why; !seen {
			return nil
		}
	}
	run.Counted = true
	return nil
}

// refusedLoad distinguishes a load that a host cannot run from one that failed. If the level
// changes the load, the level cannot be tried; without the baseline's load the study cannot go
// on.
func (x *Experiment) refusedLoad(run *model.StudyRun, err error) error {
	var no *load.RefusedError
	if !errors.As(err, &no) {
		return err
	}
	changes := func(f model.StudyFactor) bool {
		l, ok, lerr := levelOf(f, run)
		return lerr == nil && ok && len(l.Workload) > 0
	}
	if slices.ContainsFunc(x.File.Factors, changes) {
		return &notInForceError{why: err.Error()}
	}
	return &baselineError{"workload " + run.Workload, err}
}

// recordError: a record cannot be written, so that the study must not go on.
type recordError struct{ err error }

// Error implements error.
func (e *recordError) Error() string { return e.err.Error() }

// Unwrap implements errors.Is.
func (e *recordError) Unwrap() error { return e.err }

// notInForceError: the treatment of a run cannot be applied or, if it is skipped, no operator
// makes it.
type notInForceError struct {
	why           string
	skipped       bool
	factor, level string // the level that is skipped
}

// Error implements error.
func (e *notInForceError) Error() string { return e.why }

func describe(r model.StudyRun, w model.StudyWorkload) string {
	what := "baseline"
	switch {
	case r.Factor != "":
		what = r.Factor + " " + r.Level
	case len(r.Levels) > 0:
		var all []string
		for _, f := range slices.Sorted(maps.Keys(r.Levels)) {
			all = append(all, f+" "+r.Levels[f])
		}
		what = strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s block %d: run %d of %s for %s: %s", r.Stage, r.Block, r.N, w.Name, w.Warmup+w.Duration, what)
}

func (x *Experiment) say(format string, args ...any) {
	if x.Say != nil {
		x.Say(fmt.Sprintf(format, args...))
	}
}

func (x *Experiment) host(name string) (*Host, error) {
	for _, h := range x.Hosts {
		if h.Name == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("find host %q: the study has none of that name", name)
}

// hangUp ends all agents.
func (x *Experiment) hangUp() {
	for _, h := range x.Hosts {
		if h.agent != nil {
			_ = h.agent.Close() // all important calls were answered; an agent that hangs is killed
			h.agent = nil
		}
	}
}
