package tune

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
	"linerate/internal/systems/windows"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
	"linerate/internal/tune/script"
)

// foreign is a host that linerate changes by a script, because its agent does not run there.
type foreign struct {
	kind script.Kind
	here bool // it is this very host
	ask  func(ctx context.Context, text string) ([]byte, error)
}

// Scripted reports whether hosts that run this system are changed by a script; os is as in ids
// of settings.
func Scripted(os string) bool {
	_, ok := script.Find(os)
	return ok
}

// foreignHost finds out from a failed Dial whether the host is one that scripts can change; nil:
// it is not.
func foreignHost(d reach.Dialler, n host.Name, dial error) *foreign {
	var other *host.Foreign
	if !errors.As(dial, &other) {
		return nil
	}
	kind, ok := script.Find(other.GOOS)
	if !ok {
		return nil
	}
	return &foreign{kind, reach.IsHere(n), func(ctx context.Context, text string) ([]byte, error) {
		return d.Ask(ctx, n, kind.Name(), text, frame.Most)
	}}
}

// facts reads the host.
func (f *foreign) facts(ctx context.Context, name string, now time.Time) (*model.Facts, error) {
	system, ok := systems.Find(f.kind.Name())
	if !ok {
		return nil, fmt.Errorf("look at %s: %s cannot be read", name, f.kind.Name())
	}
	answer, err := f.ask(ctx, system.Script())
	if err != nil {
		return nil, err
	}
	return systems.Read(system, answer, name, now)
}

// read asks the host for the values by the commands that a script would read them with.
func (f *foreign) read(ctx context.Context, asks []profile.Ask) (map[profile.Ask]profile.Reading, error) {
	now := map[profile.Ask]profile.Reading{}
	var commands []script.Mechanism
	var of []profile.Ask
	for _, a := range asks {
		m, err := f.kind.Mechanism(a.Setting, a.Target)
		if err != nil {
			now[a] = profile.Reading{NotSet: err.Error()}
			continue
		}
		commands, of = append(commands, m), append(of, a)
	}
	if len(of) == 0 {
		return now, nil
	}
	frames, err := f.values(ctx, commands)
	if err != nil {
		return nil, fmt.Errorf("read the values: %w", err)
	}
	for i, a := range of {
		now[a] = f.reading(a, frames.Text(strconv.Itoa(i)))
	}
	return now, nil
}

// values runs the commands that read some mechanisms: the frames are called 0, 1, 2 and so on.
func (f *foreign) values(ctx context.Context, commands []script.Mechanism) (frame.Frames, error) {
	answer, err := f.ask(ctx, f.kind.System().Reading(commands))
	if err != nil {
		return nil, err
	}
	return frame.Parse(answer)
}

// refuse takes out of the plan the values that the host would not accept, as far as it can be asked
// before the change.
func (d *drafted) refuse(ctx context.Context) error {
	var commands []script.Mechanism
	var of []int
	for i, r := range d.rows {
		if !r.Change {
			continue
		}
		m, err := d.foreign.kind.Mechanism(r.Setting, r.Target)
		if err != nil {
			return err
		}
		if try, ok := m.Trial(r.To); ok {
			commands, of = append(commands, try), append(of, i)
		}
	}
	if len(of) == 0 {
		return nil
	}
	frames, err := d.foreign.values(ctx, commands)
	if err != nil {
		return fmt.Errorf("ask %s which values it takes: %w", d.name, err)
	}
	for i, row := range of {
		text := frames.Text(strconv.Itoa(i))
		why, asked := strings.CutPrefix(text.Or(""), script.TriedWord)
		switch {
		case !asked:
			d.rows[row].Change, d.rows[row].Why = false, "whether the host takes it could not be asked: "+windows.Plain(text.Why)
		case why != "":
			d.rows[row].Change, d.rows[row].Why = false, windows.Plain(why)
		}
	}
	return nil
}

func (f *foreign) reading(a profile.Ask, text model.Fact[string]) profile.Reading {
	value, ok := text.Get()
	if !ok {
		return profile.Reading{Missing: windows.Plain(text.Why)}
	}
	value, err := f.kind.Canonical(a.Setting, a.Target, strings.TrimSpace(value))
	if err == nil {
		err = script.CheckValue(value)
	}
	if err != nil {
		return profile.Reading{Missing: err.Error()}
	}
	return profile.Reading{Value: value}
}

// draftForeign is draft for a host that is changed by a script.
func (d *drafted) draftForeign(ctx context.Context) (err error) {
	if d.o.Peer != nil {
		return failure.As(failure.Usage, &Error{Unmeasured, d.name, fmt.Errorf("it runs %s, from which no round trip can be measured", d.foreign.kind.Name())})
	}
	if d.o.Persist && d.foreign.kind.System().PowerShell {
		return failure.As(failure.Usage, &Error{CannotPersist, d.name, errors.New("on Windows all that linerate changes outlives a restart: leave it out")})
	}
	if _, can := d.foreign.kind.(script.Keeper); d.o.Persist && !can {
		return cannotKeep(d.name, d.foreign.kind)
	}
	if d.facts, err = d.foreign.facts(ctx, d.name, d.now()); err != nil {
		return fmt.Errorf("look at %s: %w", d.name, err)
	}
	return nil
}

// cannotKeep refuses to make changes permanent on a system where linerate writes no files for that.
func cannotKeep(name string, k script.Kind) error {
	return failure.As(failure.Usage, &Error{CannotPersist, name, fmt.Errorf("on %s linerate changes what runs, until the next restart; docs/systems.md", k.Name())})
}

// script is the script that carries out the plan.
func (d *drafted) script() (string, error) {
	s, err := d.steps()
	if err != nil {
		return "", err
	}
	return s.Text()
}

func (d *drafted) steps() (script.Script, error) {
	p := d.plans[0]
	s := script.Script{Plan: p.ID, Host: d.name, State: script.State, System: d.foreign.kind.System()}
	for _, c := range p.Changes {
		m, err := d.foreign.kind.Mechanism(c.Setting, c.Target)
		if err != nil {
			return s, err
		}
		// A restart does not undo what a file sets again.
		m.Runtime = m.Runtime && !d.o.Persist
		s.Steps = append(s.Steps, script.Step{Name: stepName(c), From: c.From, To: c.To, Mechanism: m})
	}
	s.Steps = append(s.Steps, d.kept...)
	return s, nil
}

// keep adds a step for each change that has to outlive a restart. Its original is the value with
// which the host starts now.
func (d *drafted) keep(ctx context.Context, doc *Proposal) error {
	keeper, ok := d.foreign.kind.(script.Keeper)
	if !ok || len(d.plans) == 0 {
		return nil
	}
	var steps []script.Step
	var commands []script.Mechanism
	for _, c := range d.plans[0].Changes {
		m, at, err := keeper.Keep(c.Setting, c.Target)
		if err != nil {
			return failure.As(failure.Usage, &Error{CannotPersist, d.name, fmt.Errorf("%w; change it until the next restart, or leave it out", err)})
		}
		if at == "" {
			continue // the change itself outlives a restart
		}
		commands = append(commands, m)
		steps = append(steps, script.Step{Name: stepName(c) + "@" + at, To: c.To, Mechanism: m})
	}
	if len(steps) == 0 {
		return nil
	}
	frames, err := d.foreign.values(ctx, commands)
	if err != nil {
		return fmt.Errorf("read what %s starts with: %w", d.name, err)
	}
	for i, step := range steps {
		text := frames.Text(strconv.Itoa(i))
		value, ok := text.Get()
		if !ok {
			return fmt.Errorf("read what %s starts with: %s: %s", d.name, step.Name, text.Why)
		}
		if step.From = strings.TrimSpace(value); step.From != step.To {
			d.kept = append(d.kept, step)
			doc.Notes = append(doc.Notes, fmt.Sprintf("it starts with it too: %s: %s -> %s", step.Name, step.From, step.To))
		}
	}
	return nil
}

// plainName matches the device names that are safe in any script.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,90}$`) })

// stepName is a setting with its device, as a script may contain it.
func stepName(c model.Change) string {
	switch {
	case c.Target == "":
		return c.Setting
	case strings.HasPrefix(c.Target, "guid:") && plainName().MatchString(c.Device):
		return c.Setting + "@" + c.Device // an adapter's name says more than its GUID
	}
	return c.Setting + "@" + c.Target
}

// applyForeign runs the script of the plan on the host.
func (d *drafted) applyForeign(ctx context.Context, doc Proposal) (Proposal, error) {
	if by, ok := d.foreign.kind.(script.ByHand); ok {
		return doc, failure.Advise(failure.Of(failure.Usage, "%s runs %s: %s", d.name, d.foreign.kind.Name(), by.ByHand()), failure.ReadScript, d.name)
	}
	if err := d.mayScript(); err != nil {
		return doc, err
	}
	text, err := d.script()
	if err != nil {
		return doc, err
	}
	args := []string{"apply"}
	wait := d.plans[0].DeadMan()
	if wait > 0 && d.o.Persist && d.foreign.kind.System().Forgets {
		return doc, failure.As(failure.Usage, &Error{CannotPersist, d.name, fmt.Errorf("a restart of %s before you confirm would leave the values in its files, and nothing to undo them: do not wait for a confirmation, or let them last until the next restart", d.name)})
	}
	if wait > 0 {
		args = append(args, strconv.Itoa(int((wait+time.Minute-1)/time.Minute)))
	}
	carried, err := d.foreign.kind.System().Carry(text, args...)
	if err != nil {
		return doc, err
	}
	answer, askErr := d.foreign.ask(ctx, carried)
	said, code, err := script.Outcome(answer)
	switch {
	case err != nil:
		return doc, failure.Advise(failure.Of(failure.NotRestored, "apply the plan: %w; which values %s has now is not known", errors.Join(askErr, err), d.name), failure.SeeAndPutBack, d.name)
	case code == script.NotRestored:
		return doc, failure.Of(failure.NotRestored, "apply the plan on %s: %s", d.name, strings.Join(said, "; "))
	case code != 0:
		return doc, fmt.Errorf("apply the plan on %s: %s", d.name, strings.Join(said, "; "))
	}
	if !script.Applied(d.plans[0].ID, said) {
		return doc, failure.Advise(failure.Of(failure.NotRestored, "apply the plan on %s: its script ended without saying that it is in force", d.name), failure.SeeAndPutBack, d.name)
	}
	yes := true
	for i := range doc.Plan {
		doc.Plan[i].Applied, doc.Plan[i].Effective = &yes, "read back"
	}
	doc.ID, doc.Notes = d.plans[0].ID, said
	if wait > 0 {
		doc.Notes = append(doc.Notes, "to keep it: linerate tune confirm "+d.name)
	}
	return doc, nil
}

// mayScript refuses where the script would not be run by root, or an administrator.
func (d *drafted) mayScript() error {
	if d.facts.UID == 0 {
		return nil
	}
	who := fmt.Sprintf("we are user %d", d.facts.UID)
	if d.facts.UID < 0 {
		who = "who we are was not read"
	}
	return failure.Advise(fmt.Errorf("change settings of %s: %s", d.name, d.foreign.takes(who)), failure.ReadScript, d.name)
}

// takes says which rights a change needs, and how to get them; who is the user that a Unix host
// names.
func (f *foreign) takes(who string) string {
	switch admin := f.kind.System().PowerShell; {
	case admin && f.here:
		return "it takes an administrator: start linerate in a window that was opened with \"Run as administrator\""
	case admin:
		return "it takes an administrator, and the user of this login is none there"
	case f.here:
		return "it takes root, and " + who + ": use sudo"
	}
	if _, byHand := f.kind.(script.ByHand); byHand { // there sudo is not used
		return "it takes root, and " + who + " there: log in as root"
	}
	return "it takes root, and " + who + " there: log in as root, or allow sudo -n there"
}

// onPlans runs the kept scripts of a host's plans, newest first.
func (f *foreign) onPlans(ctx context.Context, name, plan string, args ...string) (said []string, code int, err error) {
	text, err := f.kind.System().OnPlans(script.State, plan, args...)
	if err != nil {
		return nil, 0, failure.As(failure.Usage, err)
	}
	answer, askErr := f.ask(ctx, text)
	said, code, err = script.Outcome(answer)
	switch {
	case err != nil:
		err = failure.Of(failure.NotRestored, "ask %s: %w; which values it has now is not known", name, errors.Join(askErr, err))
	case code == script.Unprivileged:
		err = failure.Of(failure.NotRestored, "ask %s for its plans: it may have records of them that this login cannot read: nothing was done, and what is in force is not known; %s", name, f.takes("we are another user"))
	}
	return said, code, err
}

// undo puts back what the plans changed.
func (f *foreign) undo(ctx context.Context, name string, r UndoRequest) (tune.Result, error) {
	if r.To > 0 || r.FromScript {
		return tune.Result{}, failure.Of(failure.Usage, "%s runs %s: there a plan is undone as a whole, by its own script, and cannot be undone in part or by another", name, f.kind.Name())
	}
	args := []string{"undo"}
	if r.Force {
		args = append(args, "--force")
	}
	said, code, err := f.onPlans(ctx, name, r.Plan, args...)
	switch {
	case err != nil:
		return tune.Result{}, err
	case code != 0:
		return tune.Result{Notes: said}, failure.Of(failure.NotRestored, "not everything was restored on %s", name)
	case r.Plan != "" && len(said) == 0:
		return tune.Result{}, failure.As(failure.Usage, &Error{NeverHadPlan, r.Plan, errors.New("no plan of that host")})
	}
	for _, plan := range script.Plans(said) {
		if !script.Undone(plan, said) {
			return tune.Result{Notes: said}, failure.Of(failure.NotRestored, "the script of plan %s on %s ended without saying that it is undone: it may be damaged; run the one that you kept, or set by hand the values that the host had", plan, name)
		}
	}
	return tune.Result{Notes: said}, nil
}

// confirm keeps what the newest plan changed.
func (f *foreign) confirm(ctx context.Context, name string) (plan string, kept int, err error) {
	said, _, err := f.onPlans(ctx, name, "", "status")
	if err != nil {
		return "", 0, err
	}
	for _, line := range said {
		if id, ok := strings.CutPrefix(line, "waits to be confirmed: "); ok {
			plan = id
			break
		}
		if strings.HasSuffix(line, ": changed by this plan") {
			kept++
		}
		if strings.HasPrefix(line, "plan ") {
			kept = 0
		}
	}
	if plan == "" {
		return "", 0, failure.Of(failure.Nothing, "nothing waits to be confirmed on %s", name)
	}
	said, code, err := f.onPlans(ctx, name, plan, "confirm")
	if err == nil && code != 0 {
		err = fmt.Errorf("confirm %s on %s: %s", plan, name, strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "plan "+plan }), "; "))
	}
	return plan, kept, err
}
