package tune

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/probe"
	"linerate/internal/unit"
)

// Times of waves.
const (
	// waveConfirm is how long hosts wait for their confirmation if the user does not say. A wave is
	// applied, looked at twice, and confirmed in much less.
	waveConfirm = 3 * time.Minute
	backTime    = 2 * time.Minute // to put a wave back
)

// waveAgent is what a wave asks of a host.
type waveAgent interface {
	changeable
	probe.End
	Clock(ctx context.Context) (model.Clock, error)
	StartSampling(ctx context.Context, w measure.Watch, interval time.Duration) (func() ([]model.Sample, error), error)
	Close() error
}

// rollout is a change of many hosts that is under way.
type rollout struct {
	env     app.Env
	o       SiteRequest
	tell    app.Progress
	id      string // of the plan, on each host
	members []*member
	waves   [][]*member
	stopped *Stopped

	dial    func(ctx context.Context, n host.Name) (waveAgent, error)
	see     func(ctx context.Context, m *member) (pathLook, error)
	probing chan struct{} // has room for each host that may probe towards the peer
	keep    func() error  // puts the record on the disk
	lock    *os.File

	mu     sync.Mutex
	peer   waveAgent // nil: none
	peerTo netip.Addr
}

func newRollout(e app.Env, o SiteRequest, p app.Progress, id string) *rollout {
	r := &rollout{env: e, o: o, tell: p, id: id, probing: make(chan struct{}, atOnceOfPeer)}
	r.dial = func(ctx context.Context, n host.Name) (waveAgent, error) { return e.Reach(p).Dial(ctx, n) }
	r.see = r.look
	r.keep = r.write
	return r
}

func (r *rollout) setPeer(to netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peerTo = to
}

// ApplySite changes the hosts of a site in waves: a canary first, then waves that grow. Each wave
// is applied, looked at and confirmed before the next one begins. At the first host that does not
// do so, or whose path got worse, it stops and puts that wave back; what was confirmed before
// stays. Every host undoes by itself what is not confirmed in time. before gets the plan before
// anything is changed.
//
// The error says why it stopped, or which hosts it did not read. The plan has the state of each
// host in any case.
func ApplySite(ctx context.Context, e app.Env, o SiteRequest, before func(SitePlan), p app.Progress) (SitePlan, error) {
	if o.Confirm == model.NoConfirm {
		return SitePlan{}, failure.As(failure.Usage, &Error{Unconfirmed, o.Site, errors.New("a change of many hosts goes in waves only where each host undoes it by itself unless it is confirmed")})
	}
	if o.Confirm == 0 {
		o.Confirm = waveConfirm
	}
	r, err := planSite(ctx, e, o, p)
	if err != nil {
		return SitePlan{}, err
	}
	before(r.document())
	if len(r.waves) == 0 {
		return r.document(), r.lostError()
	}
	if err := r.begin(); err != nil {
		return SitePlan{}, err
	}
	return r.finish(ctx)
}

// finish carries out the waves that are left.
func (r *rollout) finish(ctx context.Context) (doc SitePlan, err error) {
	defer func() { err = errors.Join(err, r.end(err == nil)) }()
	if r.o.Peer != nil {
		if r.peer, err = r.dial(ctx, *r.o.Peer); err != nil {
			return r.document(), err
		}
		defer func() { _ = r.peer.Close() }() // it has told what we want to know
	}
	for i, w := range r.waves {
		if err := r.wave(ctx, i+1, left(w)); err != nil {
			doc := r.document()
			doc.Plan = r.id
			return doc, err
		}
	}
	doc = r.document()
	doc.Plan = r.id
	return doc, r.lostError()
}

// left are the hosts of a wave that are still to be changed.
func left(w []*member) (out []*member) {
	for _, m := range w {
		if m.State != Planned && m.State != UndoneSince {
			out = append(out, m)
		}
	}
	return out
}

// hostError is what stopped a wave.
type hostError struct {
	m   *member
	err error
}

func (e *hostError) Error() string { return e.m.Name + ": " + e.err.Error() }
func (e *hostError) Unwrap() error { return e.err }

// all does something on each host of a wave; the first failure ends it on all.
func (r *rollout) all(ctx context.Context, wave []*member, do func(ctx context.Context, m *member) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnceOfSite)
	for _, m := range wave {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := do(ctx, m); err != nil {
				return &hostError{m, err}
			}
			return nil
		})
	}
	return group.Wait()
}

// wave changes the hosts of a wave: all of them, or in the end none.
func (r *rollout) wave(ctx context.Context, n int, wave []*member) error {
	if len(wave) == 0 {
		return nil
	}
	r.tell.Say("wave %d of %d: %s", n, len(r.waves), hostsOf(wave))
	defer func() {
		for _, m := range wave {
			if m.agent != nil {
				_ = m.agent.Close() // it has told what we want to know
				m.agent = nil
			}
		}
	}()
	err := r.all(ctx, wave, r.reachHost)
	if err == nil {
		for _, m := range wave {
			m.State = changed
		}
		err = r.keep()
	}
	for _, step := range []func(context.Context, *member) error{r.applyTo, r.judge, r.confirm} {
		if err == nil {
			err = r.all(ctx, wave, step)
		}
	}
	if err != nil {
		return r.stop(ctx, n, wave, err)
	}
	for _, m := range wave {
		m.State = Planned
	}
	if err := r.keep(); err != nil {
		err = failure.Of(failure.NotRestored, "%w; the hosts of wave %d are changed and confirmed all the same", err, n)
		return failure.Advise(err, failure.UndoWaves, r.o.Site, r.id)
	}
	r.tell.Say("wave %d of %d is confirmed", n, len(r.waves))
	return nil
}

func hostsOf(wave []*member) string {
	if len(wave) == 1 {
		return wave[0].Name
	}
	return fmt.Sprintf("%d hosts, such as %s", len(wave), wave[0].Name)
}

// reachHost starts an agent and reads the path as it is before the change.
func (r *rollout) reachHost(ctx context.Context, m *member) (err error) {
	if m.agent, err = r.dial(ctx, m.host); err != nil {
		m.agent = nil
		return err
	}
	// The host may have been restarted since the plan was made, so the plan gets its present boot
	// id. If its values are no longer the same, it refuses the plan.
	m.Plan.BootID = m.agent.Hello().BootID
	m.before, err = r.see(ctx, m)
	return err
}

func (r *rollout) applyTo(ctx context.Context, m *member) error {
	m.tried = true
	if _, err := m.agent.Apply(ctx, m.Plan); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

// judge reads the path again. If it seems worse, judge reads it once more before it says so.
func (r *rollout) judge(ctx context.Context, m *member) error {
	why := ""
	for range 2 {
		after, err := r.see(ctx, m)
		if err != nil {
			return err
		}
		m.path = after.words() + "; " + rateWords(m.before.flows, after.flows, r.peer != nil)
		if why = worse(m.before, after); why == "" {
			return nil
		}
	}
	return fmt.Errorf("its path got worse: %s", why)
}

func (r *rollout) confirm(ctx context.Context, m *member) error {
	if err := m.agent.Confirm(ctx, m.Plan.ID); err != nil {
		return fmt.Errorf("confirm: %w", err)
	}
	if !r.o.Persist {
		return nil
	}
	if _, err := m.agent.Persist(ctx, m.Plan.ID, false); err != nil {
		return fmt.Errorf("make it outlive a restart: %w", err)
	}
	return nil
}

// stop puts a wave back and says why.
func (r *rollout) stop(ctx context.Context, n int, wave []*member, cause error) error {
	r.stopped = &Stopped{Wave: n, Why: cause.Error()}
	var at *hostError
	if errors.As(cause, &at) {
		r.stopped.Host, r.stopped.Why = at.m.Name, at.err.Error()
		at.m.why = at.err.Error()
	}
	r.tell.Say("wave %d stops: %v; putting it back", n, cause)
	unknown := r.putBack(ctx, wave)
	if err := r.keep(); err != nil {
		r.tell.Say("%v", err)
	}
	kept := r.count(Planned)
	what := fmt.Sprintf("wave %d of %d stopped and was put back (%v); as planned: %s; the others are as before", n, len(r.waves), cause, unit.Count(kept, "host"))
	if u := r.count(UndoneSince); u > 0 {
		what = fmt.Sprintf("wave %d of %d stopped and was put back (%v); as planned: %s; undone since: %s; the others are as before", n, len(r.waves), cause, unit.Count(kept, "host"), unit.Count(u, "host"))
	}
	if len(unknown) > 0 {
		err := failure.Of(failure.NotRestored, "wave %d of %d stopped (%w), and the state of %d of its hosts is not known: %s: %s; each host undoes by itself what was not confirmed", n, len(r.waves), cause, len(unknown), unknown[0].Name, unknown[0].why)
		return failure.Advise(err, failure.LookAtWaves)
	}
	if ctx.Err() != nil {
		return failure.Advise(failure.AsAdvised(failure.Of(failure.Interrupted, "interrupted: %s", what), cause), failure.ResumeWaves)
	}
	return failure.Advise(failure.AsAdvised(failure.Of(failure.Failed, "%s", what), cause), failure.ResumeOrUndo, r.o.Site, r.id)
}

func (r *rollout) count(s State) (n int) {
	for _, m := range r.members {
		if m.State == s {
			n++
		}
	}
	return n
}

// putBack undoes the plan on the hosts of a wave that were asked to apply it, and returns the hosts
// of which the state is not known.
func (r *rollout) putBack(ctx context.Context, wave []*member) (unknown []*member) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), backTime, fmt.Errorf("it was not put back within %v", backTime))
	defer cancel()
	r.each(wave, atOnceOfSite, func(m *member) {
		m.State = Before
		if !m.tried {
			return
		}
		if err := r.undoOn(ctx, m); err != nil {
			m.State, m.why = Unknown, failure.FirstLine(err)
		}
	})
	for _, m := range wave {
		if m.State == Unknown {
			unknown = append(unknown, m)
		}
	}
	return unknown
}

// undoOn takes the plan back on one host, over a new connection if the old one has ended.
func (r *rollout) undoOn(ctx context.Context, m *member) (err error) {
	if m.agent != nil {
		if err = r.takeBack(ctx, m); err == nil {
			return nil
		}
		_ = m.agent.Close() // it may be gone
		m.agent = nil
	}
	again, derr := r.dial(ctx, m.host)
	if derr != nil {
		return errors.Join(err, derr)
	}
	m.agent = again
	return r.takeBack(ctx, m)
}

// takeBack undoes the plan and checks that nothing of it is left.
func (r *rollout) takeBack(ctx context.Context, m *member) error {
	if _, err := m.agent.Undo(ctx, r.id); err != nil {
		return fmt.Errorf("undo %s: %w", r.id, err)
	}
	in, _, err := r.standing(ctx, m)
	if err == nil && in > 0 {
		err = fmt.Errorf("undo %s: %d of its changes are still in force", r.id, in)
	}
	return err
}

// standing is how many changes of the plan are in force on a host, and whether the plan waits there
// to be confirmed.
func (r *rollout) standing(ctx context.Context, m *member) (inForce int, waits bool, err error) {
	open, err := m.agent.OpenJournal(ctx)
	if err != nil {
		return 0, false, err
	}
	for _, e := range open {
		if e.Plan == r.id {
			inForce++
		}
	}
	w, is, err := m.agent.Waiting(ctx)
	return inForce, is && w.Plan == r.id, err
}
