package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/file"
	"linerate/internal/tune"
)

// ChangedHostError: a host has changed since the study began, so that new runs could not be
// compared with earlier ones.
type ChangedHostError struct {
	Host string
	What []string
}

// Error implements error.
func (e *ChangedHostError) Error() string {
	return fmt.Sprintf("%s is not what it was when the study was begun: %s", e.Host, strings.Join(e.What, "; "))
}

// NotRestoredError: something is not as it was before the study.
type NotRestoredError struct{ Left []string }

// Error implements error.
func (e *NotRestoredError) Error() string {
	return "put everything back: " + strings.Join(e.Left, "; ") + ": linerate tune undo HOST, or undo.sh beside the journal of that host, restores what linerate changed"
}

// Times to wait for a host that does not answer: a broken ssh connection is replaced at once,
// a restart takes longer.
const (
	redialTime = 3 * time.Minute
	redialWait = 3 * time.Second
)

// begin connects to the hosts, undoes what an earlier session of this study left in force, and
// reads their facts.
func (x *Experiment) begin(ctx context.Context) error {
	x.remember()
	for _, h := range x.Hosts {
		h.tried = true
		a, err := h.Dial(ctx)
		if err != nil {
			return fmt.Errorf("reach %s: %w", h.Name, err)
		}
		h.agent = a
	}
	for _, h := range x.Hosts {
		if err := x.undoAll(ctx, h); err != nil {
			return err
		}
	}
	if err := x.clearLab(ctx); err != nil {
		return err
	}
	for _, h := range x.Hosts {
		if err := x.look(ctx, h); err != nil {
			return err
		}
	}
	if err := x.compare(ctx); err != nil {
		return err
	}
	return x.replay()
}

// replay passes the earlier runs to the director.
func (x *Experiment) replay() error {
	for _, r := range x.past {
		if err := x.Director.Add(r); err != nil {
			return err
		}
		if x.skipped[r.Factor+" "+r.Level] {
			if err := x.Director.GiveUp(r.Factor, r.Level, model.StudyNotTried, r.Why); err != nil {
				return err
			}
		}
	}
	return nil
}

// remember reads the record. Runs from before the study was begun anew stay in the record, but
// the director does not get them.
func (x *Experiment) remember() {
	if x.Past == nil {
		return
	}
	x.runs = x.Past.Runs()
	var past []model.StudyRun
	for _, e := range x.Past.Entries {
		switch e.Kind {
		case store.StudyPlanned:
			if n, err := strconv.Atoi(strings.TrimPrefix(e.Plan, x.ID+"-")); err == nil {
				x.plans = max(x.plans, n)
			}
			if h, err := x.host(e.Host); err == nil {
				x.original(h, e.Changes)
				x.reverted = Noted(x.reverted, e.Host, e.Factor, e.Level, e.Changes)
			}
		case store.StudyAsked:
			x.skipped[e.Factor+" "+e.Level] = e.Skipped
		case store.StudyRan:
			past = append(past, *e.Run)
		case store.StudyAnew:
			past, x.originals = nil, nil
		}
	}
	x.past = past
}

// undoAll undoes all open changes of this study on a host, newest first.
func (x *Experiment) undoAll(ctx context.Context, h *Host) error {
	open, err := h.agent.OpenJournal(ctx)
	if err != nil {
		return fmt.Errorf("see what is changed on %s: %w", h.Name, err)
	}
	slices.SortFunc(open, func(a, b tune.Entry) int { return cmp.Compare(b.Seq, a.Seq) })
	done := map[string]bool{}
	for _, e := range open {
		if !strings.HasPrefix(e.Plan, x.ID+"-") || done[e.Plan] {
			continue
		}
		done[e.Plan] = true
		if _, err := h.agent.Undo(ctx, e.Plan); err != nil {
			return fmt.Errorf("undo %s on %s: %w", e.Plan, h.Name, err)
		}
	}
	return nil
}

// look reads the facts of a host and, if the record has them, its facts at the beginning.
func (x *Experiment) look(ctx context.Context, h *Host) error {
	f, err := h.agent.Facts(ctx)
	if err != nil {
		return fmt.Errorf("look at %s: %w", h.Name, err)
	}
	h.last, h.base = f, f
	if x.Past != nil {
		if h.first, err = x.Record.Facts(h.At); err != nil {
			return err
		}
	}
	if h.first != nil {
		return nil
	}
	h.first = f
	if err := x.Record.PutFacts(f); err != nil {
		return &recordError{err}
	}
	return nil
}

// compare compares the hosts with their state at the beginning, after the operator has undone
// any changes by hand.
func (x *Experiment) compare(ctx context.Context) error {
	for _, f := range x.File.Factors {
		for _, l := range f.Levels {
			if err := x.leftByHand(ctx, f, l); err != nil {
				return err
			}
		}
	}
	for _, h := range x.Hosts {
		what, err := x.otherwise(ctx, h)
		if err != nil {
			return err
		}
		if what = append(changedHost(h.first, h.last), what...); len(what) == 0 {
			continue
		}
		if !x.Anew {
			return &ChangedHostError{h.Name, what}
		}
		why := (&ChangedHostError{h.Name, what}).Error()
		if err := x.Record.Put(store.StudyEntry{Kind: store.StudyAnew, At: x.Now(), Why: why}); err != nil {
			return err
		}
		for i := range x.runs {
			x.runs[i].Counted, x.runs[i].Why = false, cmp.Or(x.runs[i].Why, why)
		}
		x.past, x.originals = nil, nil
		h.first = h.last
		if err := x.Record.PutFacts(h.last); err != nil {
			return err
		}
	}
	return nil
}

// original notes the value of a setting before the study first changed it.
func (x *Experiment) original(h *Host, changes []model.Change) {
	if x.originals == nil {
		x.originals = map[place]string{}
	}
	for _, c := range changes {
		at := place{h, c.Setting, c.Target}
		if _, ok := x.originals[at]; !ok {
			x.originals[at] = c.From
		}
	}
}

// place is one setting on one host.
type place struct {
	host            *Host
	setting, target string
}

// otherwise lists the settings that the study has changed and that do not have their original
// value. It reads them one by one, since facts include only some settings.
func (x *Experiment) otherwise(ctx context.Context, h *Host) ([]string, error) {
	var out []string
	for at, was := range x.originals {
		if at.host != h {
			continue
		}
		now, err := h.agent.ReadSetting(ctx, at.setting, at.target, was)
		if err != nil {
			return nil, fmt.Errorf("read %s of %s: %w", at.setting, h.Name, err)
		}
		if !sameValue(now, was) {
			out = append(out, fmt.Sprintf("%s was %q and is %q", strings.TrimSpace(at.setting+" "+at.target), was, now))
		}
	}
	slices.Sort(out)
	return out, nil
}

// leftByHand asks an operator to undo a level that an earlier session left in force.
func (x *Experiment) leftByHand(ctx context.Context, f model.StudyFactor, l model.StudyLevel) error {
	if l.Instruct == "" || l.Verify == nil {
		return nil
	}
	h, err := x.host(l.Verify.Host)
	if err != nil {
		return err
	}
	if was, _, err := file.Holds(h.first, *l.Verify); err != nil || was {
		return nil // not known, or the same before the study
	}
	if is, _, err := file.Holds(h.last, *l.Verify); err != nil || !is {
		return nil
	}
	if err := x.back(ctx, layer{factor: f.Name, level: l}); err != nil {
		return err
	}
	h.last, err = h.agent.Facts(ctx)
	return err
}

// changedHost lists the differences that rule out a comparison with the host's earlier runs.
func changedHost(was, now *model.Facts) []string {
	var out []string
	if was.Kernel != now.Kernel {
		out = append(out, fmt.Sprintf("its kernel was %s and is %s", was.Kernel, now.Kernel))
	}
	is := map[string]model.NIC{}
	for _, n := range now.NICs {
		is[n.Device] = n
	}
	for _, n := range was.NICs {
		m, ok := is[n.Device]
		switch {
		case len(n.Addrs) == 0:
		case !ok:
			out = append(out, n.Name+" is gone")
		case m.Driver != n.Driver:
			out = append(out, fmt.Sprintf("the driver of %s was %s and is %s", n.Name, n.Driver.Or("not known"), m.Driver.Or("not known")))
		case m.Firmware != n.Firmware:
			out = append(out, fmt.Sprintf("the firmware of %s was %s and is %s", n.Name, n.Firmware.Or("not known"), m.Firmware.Or("not known")))
		}
	}
	return append(out, loop.Differences(was, now)...)
}

// recover undoes all layers except an operator's after a run that failed, so that the next run
// begins from a known state.
func (x *Experiment) recover(ctx context.Context) error {
	x.forget()
	for _, h := range x.Hosts {
		if err := x.answering(ctx, h); err != nil {
			return err
		}
		if err := x.undoAll(ctx, h); err != nil {
			return err
		}
		f, err := h.agent.Facts(ctx)
		if err != nil {
			return fmt.Errorf("look at %s: %w", h.Name, err)
		}
		if f.BootID != h.base.BootID {
			x.say("%s was restarted", h.Name)
			h.base = f
		}
		h.last = f
	}
	byOperator := 0
	for byOperator < len(x.stack) && x.stack[byOperator].level.Instruct != "" {
		byOperator++
	}
	x.stack = x.stack[:byOperator]
	return x.compareQuietly()
}

// compareQuietly is compare without asking an operator to undo anything.
func (x *Experiment) compareQuietly() error {
	if len(x.stack) > 0 {
		return nil // the operator's work counts as a difference
	}
	for _, h := range x.Hosts {
		if what := changedHost(h.first, h.last); len(what) > 0 {
			return &ChangedHostError{h.Name, what}
		}
	}
	return nil
}

// answering connects again to a host whose agent died.
func (x *Experiment) answering(ctx context.Context, h *Host) error {
	_, err := h.agent.Clock(ctx)
	if err == nil {
		return nil
	}
	x.say("%s does not answer (%v): reaching it again", h.Name, err)
	_ = h.agent.Close() // it has ended, or is killed here
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(x.patience, redialTime), fmt.Errorf("reach %s again: no answer: what was changed there it undoes by itself, or the study does when it is resumed", h.Name))
	defer cancel()
	for {
		a, err := h.Dial(ctx)
		if err == nil {
			h.agent = a
			return nil
		}
		select {
		case <-time.After(redialWait):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// conclude undoes everything, however the study ended, and fills in the outcome.
func (x *Experiment) conclude(ctx context.Context, out *Outcome, cause error) error {
	mayAsk := cause == nil // the operator
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	out.Runs, out.Reverted = x.runs, x.reverted
	for _, h := range x.Hosts {
		if h.agent != nil {
			out.Left = append(out.Left, x.putBack(ctx, h)...)
		} else if left := x.mayBeChanged(h); left != "" {
			out.Left = append(out.Left, left)
		}
		if h.first != nil {
			out.Facts[h.At] = h.first
		}
	}
	if err := x.clearLab(ctx); err != nil {
		out.Left = append(out.Left, err.Error())
	}
	for _, l := range slices.Backward(x.stack) {
		if l.level.Instruct == "" || x.byLab(l) {
			continue
		}
		if !mayAsk {
			out.Left = append(out.Left, fmt.Sprintf("%s %s was made by hand and stands: %s", l.factor, l.level.Name, cmp.Or(l.level.Back, "take back: "+l.level.Instruct)))
			continue
		}
		// Without a time limit, since an operator may take any time.
		if err := x.back(context.WithoutCancel(ctx), l); err != nil {
			out.Left = append(out.Left, err.Error())
		}
	}
	for _, h := range x.Hosts {
		out.Left = append(out.Left, x.differs(ctx, h, out)...)
	}
	x.stack = nil
	if out.Restored = len(out.Left) == 0; !out.Restored {
		return errors.Join(cause, &NotRestoredError{out.Left})
	}
	return cause
}

// mayBeChanged says what is known of a host that this session has not reached, where an earlier one
// changed it and is not known to have put everything back; else it is empty.
func (x *Experiment) mayBeChanged(h *Host) string {
	if x.Past == nil {
		return ""
	}
	changed, told := false, false
	for _, e := range x.Past.Entries {
		switch {
		case e.Kind == store.StudyPlanned && e.Host == h.Name:
			changed, told = true, false
		case e.Kind == store.StudyStopped:
			changed, told = changed && !e.Restored, true
		}
	}
	how := "was not reached"
	if !h.tried {
		how = "was not tried"
	}
	switch {
	case !changed:
		return ""
	case told:
		return fmt.Sprintf("%s %s: what the study changed there may be in force", h.Name, how)
	}
	return fmt.Sprintf("%s %s: whether what the study changed there is in force is not known, since its record does not say how it was stopped (it was killed, or a version of linerate stopped it that did not record that)", h.Name, how)
}

// putBack undoes all changes of this study on a host.
func (x *Experiment) putBack(ctx context.Context, h *Host) []string {
	err := x.undoAll(ctx, h)
	if err == nil {
		return nil
	}
	if aerr := x.answering(ctx, h); aerr != nil {
		return []string{aerr.Error()}
	}
	if err = x.undoAll(ctx, h); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// differs lists what on a host differs from the beginning.
func (x *Experiment) differs(ctx context.Context, h *Host, out *Outcome) []string {
	if h.agent == nil || h.first == nil || len(x.reverted) == 0 && len(x.stack) == 0 {
		return nil // nothing was changed there
	}
	left, err := x.comparedWithFirst(ctx, h)
	if err != nil && len(out.Left) > 0 {
		return nil // its other error is reported
	}
	if err != nil {
		if err = x.answering(ctx, h); err == nil {
			left, err = x.comparedWithFirst(ctx, h)
		}
	}
	if err != nil {
		return []string{fmt.Sprintf("check whether %s is as it was: %v", h.Name, err)}
	}
	return left
}

// comparedWithFirst reads a host and compares it with its facts at the beginning.
func (x *Experiment) comparedWithFirst(ctx context.Context, h *Host) ([]string, error) {
	f, err := h.agent.Facts(ctx)
	if err != nil {
		return nil, err
	}
	others, err := x.otherwise(ctx, h)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, d := range append(loop.Differences(h.first, f), others...) {
		left = append(left, d+" on "+h.Name)
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}
