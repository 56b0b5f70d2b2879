package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

// RunOptions says which study is run.
type RunOptions struct {
	Source  *Source       // nil: the copy of the study that is resumed
	Command string        // as the record of the study names it
	Budget  time.Duration // for all runs; 0: the file's
	Seed    uint64        // of every order that is drawn; 0: the file's, else one is drawn
	Resume  string        // id of the study to go on with, the beginning of one, or "last"
	Anew    bool          // with Resume: go on although a host is not what it was
}

// User is who runs a study.
type User struct {
	// Agree shows the plan of a study that is new; its error ends the work.
	Agree func(Plan) error
	// Begun hears under which id the study can be resumed.
	Begun func(id string)
	// Operator makes changes by hand; nil where nobody is there.
	Operator experiment.Operator
}

// session is a study that is being run.
type session struct {
	env    app.Env
	p      app.Progress
	file   model.StudyFile
	raw    []byte
	state  *store.StudyState
	past   *store.StudyPast
	drive  *drive.Drive
	hosts  *hosts
	begun  time.Time
	before map[string]string // the last conclusion that the user was told, by comparison
}

// Run runs a study to its end, or what is missing of one that was interrupted, puts
// back everything that it changed, and keeps the bundle. An end before that is a
// *StoppedError, whatever its kind.
func Run(ctx context.Context, e app.Env, p app.Progress, o RunOptions, u User) (*model.Results, error) {
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	s := &session{env: e, p: p, begun: e.Now(), before: map[string]string{}}
	if o.Source != nil {
		if err := s.read(o); err != nil {
			return nil, err
		}
	}
	if o.Resume != "" {
		if err := s.takeUp(root, o); err != nil {
			return nil, err
		}
	} else if err := s.begin(ctx, root, o, u); err != nil {
		return nil, err
	}
	defer func() { _ = s.state.Close() }() // each entry was synced when it was written
	return s.work(ctx, root, o, u)
}

// read reads the study file, with what the options say otherwise.
func (s *session) read(o RunOptions) error {
	var err error
	if s.file, err = o.Source.read(o.Budget); err != nil {
		return err
	}
	s.raw = o.Source.Text
	if o.Seed != 0 {
		s.file.Protocol.Seed = o.Seed
	}
	if s.file.Protocol.Seed == 0 {
		s.file.Protocol.Seed, err = app.Seed()
	}
	return err
}

// begin plans the study, lets the user agree to that, and opens its record.
func (s *session) begin(ctx context.Context, root string, o RunOptions, u User) error {
	plan, err := plan(ctx, s.env, s.p, s.file, s.raw, PlanOptions{Budget: o.Budget, NoiseFrom: "assumed; nothing was measured yet"})
	if err != nil {
		return err
	}
	s.file = plan.File
	s.p.End()
	if err := u.Agree(plan); err != nil {
		return err
	}
	s.state, err = store.CreateStudy(root, store.StudyBegin{File: s.file, Command: o.Command, Build: s.env.Build}, s.raw, s.env.Now())
	return err
}

// takeUp opens the record of a study. A file that is named with it has to be the one
// by which the study was begun.
func (s *session) takeUp(root string, o RunOptions) error {
	state, past, err := store.ResumeStudy(root, o.Resume)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return failure.As(failure.Usage, err)
	case err != nil:
		return err
	}
	if end := past.Finished(); end != nil {
		_ = state.Close() // only read
		return failure.As(failure.Nothing, &OverError{past.ID, end.Bundle})
	}
	if s.raw != nil && string(s.raw) != string(past.Raw) {
		_ = state.Close() // only read
		return failure.As(failure.Usage, &OtherFileError{past.ID, state.Dir()})
	}
	s.state = state
	s.past = past
	s.begun = past.Begun
	s.file = past.Begin.File
	s.raw = past.Raw
	if o.Budget > 0 {
		s.file.Budget = o.Budget
	}
	return nil
}

// work makes the runs, and keeps the results.
func (s *session) work(ctx context.Context, root string, o RunOptions, u User) (*model.Results, error) {
	var err error
	if s.drive, err = drive.New(s.file); err != nil {
		return nil, err
	}
	s.hosts = &hosts{env: s.env, p: s.p, file: s.file, agents: map[string]*host.Client{}}
	x := &experiment.Experiment{
		ID: s.state.ID(), File: s.file, Hosts: s.hosts.all(), Director: s.drive, Record: s.state, Route: s.hosts.route, Copy: s.hosts.copy,
		Operator: u.Operator, Now: s.env.Now, Say: func(what string) { s.p.Say("%s", what) }, After: s.after,
		Past: s.past, Anew: o.Anew,
	}
	if x.Lab, err = operatorOf(s.env, s.file); err != nil {
		return nil, err
	}
	if s.past != nil {
		if err := s.state.Put(store.StudyEntry{Kind: store.StudyResumed, At: s.env.Now()}); err != nil {
			return nil, err
		}
	}
	u.Begun(s.state.ID())
	out, err := x.Run(ctx)
	s.p.End()
	if err != nil {
		return nil, s.stopped(out, err, ctx.Err() != nil)
	}
	return s.conclude(root, out)
}

// after tells the user of each conclusion that a run has changed.
func (s *session) after(r model.StudyRun) {
	// Only a planned look can change one, and working them out takes time of the CPU.
	if !r.Counted || s.file.Protocol.Name == file.Linerate && !slices.Contains(s.file.Protocol.Looks, r.Block) {
		return
	}
	all, err := s.drive.Comparisons()
	if err != nil {
		return // the same error ends the study when it is concluded
	}
	for _, c := range all {
		key := c.Factor + " " + c.Level + " on " + c.Workload
		if c.N == 0 || c.Conclusion == s.before[key] {
			continue
		}
		s.before[key] = c.Conclusion
		if c.Conclusion != model.StudyUndecided {
			s.p.Say("so far: %s: %s%s", key, c.Conclusion, ratioText(c))
		}
	}
}

// ratioText words an effect with its interval.
func ratioText(c model.StudyComparison) string {
	if c.Ratio == nil {
		return ""
	}
	text := fmt.Sprintf(", ×%.3f", *c.Ratio)
	if c.CILow != nil && c.CIHigh != nil {
		text += fmt.Sprintf(" (%.3f to %.3f)", *c.CILow, *c.CIHigh)
	}
	return text
}
