package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/unit"
)

// Apply makes the plan and carries it out. before gets the files that will make it
// outlive a restart, if any, before anything is changed; it may be nil. A plan without a
// change is returned as it is. If the files could not be written, everything is undone.
func Apply(ctx context.Context, e app.Env, o Request, before func([]File), p app.Progress) (Proposal, error) {
	d, err := draft(ctx, e, o, p)
	if err != nil {
		return Proposal{}, err
	}
	defer d.close()
	doc, err := d.propose(ctx)
	if err == nil && o.Shown != "" && doc.Sum() != o.Shown {
		err = failure.As(failure.Failed, &Error{AnotherPlan, d.name, errors.New("what would be changed is not what was shown, since something else changed meanwhile: look at the plan again; nothing was changed")})
	}
	if err != nil || len(doc.Plan) == 0 {
		return doc, err
	}
	if d.foreign != nil {
		return d.applyForeign(ctx, doc)
	}
	if err := d.mayChange(); err != nil {
		return Proposal{}, err
	}
	if before != nil && len(doc.Files) > 0 {
		before(doc.Files)
	}
	made, err := d.apply(ctx)
	if err != nil {
		return Proposal{}, err
	}
	seen := d.observe(ctx)
	notes, err := made.stillWaits(ctx)
	if err != nil {
		return Proposal{}, err
	}
	made.notes = append(made.notes, notes...)
	d.report(&doc, made, seen)
	if !o.Persist {
		return doc, nil
	}
	all, err := made.persist(ctx)
	if err != nil {
		return Proposal{}, made.unkept(ctx, err)
	}
	doc.Written = all && wrote(doc.Files)
	return doc, nil
}

// wrote reports whether files keep the values; for a setting that no file can keep none is written.
// If the outcome names no file, all were there before.
func wrote(files []File) bool {
	return len(files) == 0 || slices.ContainsFunc(files, func(f File) bool { return f.Path != "" })
}

// mayChange refuses where the agents are not root.
func (d *drafted) mayChange() error {
	for _, e := range d.ends() {
		if uid := e.agent.Hello().UID; uid > 0 {
			return &Error{Unprivileged, e.name, fmt.Errorf("it takes root, and we are user %d there", uid)}
		}
	}
	return nil
}

// application is what became of a plan.
type application struct {
	outcomes map[string][]tune.Outcome // by the host's name
	deadline time.Time
	notes    []string
	made     []madePlan
}

// madePlan is a plan that a host has carried out; it waits for its
// confirmation, or does not.
type madePlan struct {
	end
	id      string
	waits   bool
	changes int
}

// take notes what a plan did.
func (a *application) take(e end, res tune.Result) {
	a.outcomes[e.name] = append(a.outcomes[e.name], res.Changes...)
	a.notes = append(a.notes, res.Notes...)
	a.made = append(a.made, madePlan{e, res.Plan, !res.Deadline.IsZero(), len(res.Changes)})
	if !res.Deadline.IsZero() {
		a.deadline = res.Deadline
	}
}

// persist makes permanent the changes that do not wait to be confirmed. It reports whether
// these are all changes.
func (a *application) persist(ctx context.Context) (all bool, err error) {
	all = true
	for _, m := range a.made {
		if m.waits {
			all = false
			continue
		}
		if _, err := m.agent.Persist(ctx, m.id, false); err != nil {
			return false, fmt.Errorf("on %s: %w", m.name, err)
		}
	}
	return all, nil
}

// apply carries the plan out: a larger MTU first, at both ends and confirmed by
// what gets through, then the rest.
func (d *drafted) apply(ctx context.Context) (*application, error) {
	made := &application{outcomes: map[string][]tune.Outcome{}}
	both := len(slices.DeleteFunc(slices.Clone(d.plans), func(p hostPlan) bool { return !p.both }))
	if both > 0 { // compose puts them first
		if err := d.applyMTU(ctx, d.plans[:both], made); err != nil {
			return nil, err
		}
	}
	for _, p := range d.plans[both:] {
		res, err := p.agent.Apply(ctx, p.Plan)
		if err == nil {
			made.take(p.end, res)
			err = context.Cause(ctx) // the host made it all the same
		}
		if err != nil {
			err = fmt.Errorf("apply the plan: %w", err)
			return nil, errors.Join(made.undo(ctx), afterFailure(ctx, p.end, p.ID, err))
		}
	}
	return made, nil
}

// unkept undoes everything when the files that were to keep it could not be written.
func (a *application) unkept(ctx context.Context, cause error) error {
	cause = fmt.Errorf("make it outlive a restart: %w", cause)
	if err := a.undo(ctx); err != nil {
		return errors.Join(err, cause)
	}
	return fmt.Errorf("%w; everything is as it was before", cause)
}

// undo takes back what was made before a later part failed.
func (a *application) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(a.made) {
		if _, err := m.agent.Undo(ctx, m.id); err != nil {
			errs = append(errs, failure.Of(failure.NotRestored, "undo %s on %s: %w", m.id, m.name, err))
		}
	}
	return errors.Join(errs...)
}

// afterFailure is the error after a failure: whether changes were left in force decides its kind.
func afterFailure(ctx context.Context, on end, plan string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	open, err := on.agent.OpenJournal(ctx)
	if err != nil && err.Error() == cause.Error() {
		return failure.As(failure.NotRestored, cause) // of a journal that is damaged
	}
	if own := ownWords(err, cause); own != "" {
		return failure.Advise(failure.Of(failure.NotRestored, "%w; whether anything is left cannot be told, for the same reason (%s)", cause, own), failure.SeeHistoryLater, on.name)
	}
	if err != nil {
		return failure.Advise(failure.Of(failure.NotRestored, "%w; whether anything is left cannot be told: %w", cause, err), failure.SeeHistory, on.name)
	}
	var left, recorded []string
	foreign := 0 // of those that are left: changed by somebody else, so that undo leaves them alone
	for _, e := range open {
		switch {
		case plan != "" && e.Plan != plan:
		case asBefore(ctx, on.agent, e):
			recorded = append(recorded, e.Setting)
		default:
			left = append(left, fmt.Sprintf("%s (was %q)", e.Setting, e.Before))
			if e.State == tune.Conflict {
				foreign++
			}
		}
	}
	if len(left) == 0 && len(recorded) > 0 {
		err := failure.Of(failure.Failed, "%w; nothing is changed: %s as it was before. The journal could not record that: see that its disk has room",
			cause, strings.Join(recorded, ", ")+map[bool]string{false: " is", true: " are"}[len(recorded) > 1])
		return failure.Advise(err, failure.CloseJournal, on.name)
	}
	if len(left) == 0 {
		return failure.Of(failure.Failed, "%w", cause)
	}
	err = failure.Of(failure.NotRestored, "%w; still changed: %s", cause, strings.Join(left, ", "))
	if foreign == len(left) {
		return err // the cause says for each what is to be done
	}
	return failure.Advise(err, failure.PutBack, on.name)
}

// ownWords is the beginning of err's text without the end that it shares with said; "" if they
// share no end. It compares texts, because the error of a host arrives as its text alone.
func ownWords(err, said error) string {
	if err == nil {
		return ""
	}
	own, reason, found := strings.Cut(err.Error(), ": ")
	for found && !strings.HasSuffix(said.Error(), ": "+reason) {
		var more string
		more, reason, found = strings.Cut(reason, ": ")
		own += ": " + more
	}
	if !found {
		return ""
	}
	return own
}

// asBefore tells whether a change that was intended, and not seen to be applied, left the value as
// it was. What cannot be read counts as changed.
func asBefore(ctx context.Context, agent changeable, e tune.Entry) bool {
	if e.State != tune.Intended {
		return false
	}
	now, err := agent.ReadSetting(ctx, e.Setting, e.Target, e.Before)
	return err == nil && now == e.Before
}

// report fills in what became of each change, and what a new connection to the
// peer shows of it.
func (d *drafted) report(doc *Proposal, made *application, seen func(setting string) string) {
	doc.Notes, doc.Partly = made.notes, len(made.made) > 1
	for _, m := range made.made {
		if m.name == d.name {
			doc.ID = m.id // of its last plan
		}
	}
	if !made.deadline.IsZero() {
		doc.Deadline = &made.deadline
	}
	for i := range doc.Plan {
		l := &doc.Plan[i]
		for _, c := range made.outcomes[l.Host] {
			if c.Setting == l.Setting && c.Target == l.Target {
				l.Applied, l.Effective, l.Observed = &c.Applied, c.Effective, c.Observed
				switch {
				case l.Observed != "":
				case d.peer != nil && l.Device != "" && l.Host == d.name && l.Device != d.wayDev:
					l.Observed = fmt.Sprintf("not seen: connections to %s leave by %s", d.to, cmp.Or(d.wayDev, "another interface"))
				default:
					l.Observed = seen(l.Setting)
				}
			}
		}
	}
}

// observe opens a connection to the peer and returns what it shows of a setting. It is empty if no
// peer was reached.
func (d *drafted) observe(ctx context.Context) func(setting string) string {
	if d.peer == nil {
		return func(string) string { return "" }
	}
	_, c, err := d.trickle(ctx)
	if err != nil {
		return func(string) string { return "not looked at: " + failure.FirstLine(err) }
	}
	return func(setting string) string { return onTheWire(setting, c, d.to) }
}

// tcpi_options of include/uapi/linux/tcp.h.
const (
	optionTimestamps = 1
	optionSACK       = 2
	optionWScale     = 4
)

// onTheWire words what a new connection shows of a setting.
func onTheWire(setting string, c model.Conn, peer string) string {
	conn := "a new connection to " + peer
	has := func(bit uint8, what string) string {
		if c.Options&bit != 0 {
			return conn + " uses " + what
		}
		return conn + " does not use " + what
	}
	switch setting {
	case "linux.link.mtu":
		return fmt.Sprintf("%s sends segments of %d bytes", conn, c.SndMSS)
	case "linux.sysctl.net.ipv4.tcp_rmem":
		return fmt.Sprintf("%s can offer a window of up to %s (scale %d)", conn, unit.Bytes(65535<<c.RcvWScale), c.RcvWScale)
	case "linux.sysctl.net.ipv4.tcp_congestion_control":
		return conn + " uses " + c.CC
	case "linux.sysctl.net.ipv4.tcp_timestamps":
		return has(optionTimestamps, "timestamps")
	case "linux.sysctl.net.ipv4.tcp_sack":
		return has(optionSACK, "selective acknowledgements")
	case "linux.sysctl.net.ipv4.tcp_window_scaling":
		return has(optionWScale, "window scaling")
	}
	return "not seen: a connection at rest does not show it"
}
