package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/tune"
)

// on lets some work be done by the agent of a host.
func on(ctx context.Context, e app.Env, n host.Name, p app.Progress, work func(c *host.Client) error) (err error) {
	c, err := e.Reach(p).Agent(ctx, n)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := c.Close(); err == nil && cerr != nil {
			err = cerr
		}
	}()
	return work(c)
}

// Confirmation is what became of a plan that was confirmed.
type Confirmation struct {
	V      int    `json:"v"`
	Host   string `json:"host"`
	Plan   string `json:"plan_id"`
	Kept   int    `json:"kept"` // changes of the plan that are in force
	DryRun bool   `json:"dry_run,omitempty"`
	Files  []File `json:"files"`
}

// Confirm keeps what the last plan of a host changed: the host does not undo it by itself
// any more. With persist files make it outlive a restart; with dry they are only shown.
func Confirm(ctx context.Context, e app.Env, n host.Name, persist, dry bool, p app.Progress) (Confirmation, error) {
	doc := Confirmation{V: 1, Host: n.String(), DryRun: dry, Files: []File{}}
	err := on(ctx, e, n, p, func(c *host.Client) error { return doc.make(ctx, c, persist) })
	if f := foreignHost(e.Reach(p), n, err); f != nil {
		if persist {
			return doc, cannotKeep(doc.Host, f.kind)
		}
		doc.Plan, doc.Kept, err = f.confirm(ctx, doc.Host)
		return doc, err
	}
	switch {
	case failure.KindOf(err) != failure.Failed || err == nil:
	case ctx.Err() != nil && doc.Kept == 0:
		err = failure.Of(failure.Interrupted, "interrupted; nothing was confirmed on %s (%w)", doc.Host, err)
	case doc.Plan == "": // it was not asked
		err = failure.Of(failure.Failed, "%w; nothing was confirmed on %s: the host undoes what waits there when its time is over", err, doc.Host)
	}
	return doc, err
}

// confirmable is what a confirmation asks of an agent.
type confirmable interface {
	Waiting(ctx context.Context) (tune.Pending, bool, error)
	History(ctx context.Context) ([]tune.Entry, error)
	Confirm(ctx context.Context, plan string) error
	OpenJournal(ctx context.Context) ([]tune.Entry, error)
	Persist(ctx context.Context, plan string, dry bool) ([]tune.FileChange, error)
}

func (d *Confirmation) make(ctx context.Context, c confirmable, persist bool) (err error) {
	if d.Plan, err = toConfirm(ctx, c); err != nil {
		return err
	}
	if d.Plan == "" {
		return failure.Of(failure.Nothing, "nothing waits to be confirmed on %s, and no change of linerate's is in force there", d.Host)
	}
	if !d.DryRun {
		err := c.Confirm(ctx, d.Plan)
		if host.Unanswered(err) {
			return failure.Advise(failure.Of(failure.NotRestored, "%w; whether %s is confirmed cannot be told", err, d.Plan), failure.SeeHistory, d.Host)
		}
		// The error of a host arrives as its text alone.
		if err != nil && strings.Contains(err.Error(), tune.ErrPlan.Error()) {
			return failure.Of(failure.Nothing, "nothing waits to be confirmed on %s: nothing that the newest plan there, %s, changed is in force", d.Host, d.Plan)
		}
		if err != nil {
			return err
		}
	}
	open, err := c.OpenJournal(context.WithoutCancel(ctx)) // it is confirmed, and that is to be said
	if err != nil {
		return failure.Of(failure.NotRestored, "%s is confirmed, and its changes cannot be listed: %w", d.Plan, err)
	}
	for _, e := range open {
		if e.Plan == d.Plan {
			d.Kept++
		}
	}
	if !persist {
		return nil
	}
	files, err := c.Persist(ctx, d.Plan, d.DryRun)
	if err != nil && d.DryRun {
		return fmt.Errorf("make %s outlive a restart: %w", d.Plan, err)
	}
	if err != nil {
		return fmt.Errorf("%s is confirmed: %d of its changes are in force until a restart; make it outlive one: %w", d.Plan, d.Kept, err)
	}
	d.Files = filesOf(d.Host, files)
	return nil
}

// toConfirm is the plan that waits, else the newest that there was: the host
// says what became of it.
func toConfirm(ctx context.Context, c confirmable) (string, error) {
	w, ok, err := c.Waiting(ctx)
	if err != nil || ok {
		return w.Plan, err
	}
	all, err := c.History(ctx)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[len(all)-1].Plan, nil
}

// Restored is what an undo put back.
type Restored struct {
	V       int      `json:"v"`
	Host    string   `json:"host"`
	Changes []Entry  `json:"changes"`
	Notes   []string `json:"notes"`
}

// Undo puts back what linerate changed on a host. Who mistypes the name of a plan must
// not believe that it is undone: one that the host never had is an Error about
// NeverHadPlan. With an error the result has what was restored all the same.
func Undo(ctx context.Context, e app.Env, n host.Name, r UndoRequest, p app.Progress) (Restored, error) {
	var res tune.Result
	reached := false
	err := on(ctx, e, n, p, func(c *host.Client) (err error) {
		reached = true
		before, _ := c.OpenJournal(ctx) // a journal that cannot be read is the undo's to report
		if res, err = c.UndoWith(ctx, r); err != nil {
			res.Entries = endedSince(ctx, c, before)
			return afterFailure(ctx, end{n.String(), c}, r.Plan, err)
		}
		if len(res.Entries) > 0 || r.Plan == "" {
			return nil
		}
		all, err := c.History(ctx)
		if err == nil && !slices.ContainsFunc(all, func(e Entry) bool { return e.Plan == r.Plan }) {
			err = failure.As(failure.Usage, &Error{NeverHadPlan, r.Plan, errors.New("no plan of that host")})
		}
		return err
	})
	if f := foreignHost(e.Reach(p), n, err); f != nil {
		reached = true
		res, err = f.undo(ctx, n.String(), r)
		if r.Plan == "" {
			notes, left := f.statisticsOff(e)
			res.Notes = append(res.Notes, notes...)
			err = errors.Join(err, left)
		}
	}
	if !reached && failure.KindOf(err) == failure.Failed {
		err = failure.Of(failure.NotRestored, "%w; nothing was undone on %s", err, n)
	}
	return Restored{V: 1, Host: n.String(), Changes: append([]Entry{}, res.Entries...), Notes: append([]string{}, res.Notes...)}, err
}

// endedSince lists, newest first, the changes of open that are open no more: what an undo
// restored before, or beside, what it could not.
func endedSince(ctx context.Context, c *host.Client, open []Entry) []Entry {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	all, err := c.History(ctx)
	if err != nil {
		return nil // the undo's own error says why
	}
	var out []Entry
	for _, e := range slices.Backward(all) {
		was := slices.ContainsFunc(open, func(o Entry) bool { return o.Seq == e.Seq && o.Plan == e.Plan })
		if was && (e.State == Undone || e.State == Closed) {
			out = append(out, e)
		}
	}
	return out
}

// History is every change that linerate made on a host.
type History struct {
	V       int      `json:"v"`
	Host    string   `json:"host"`
	BootID  string   `json:"boot_id"` // of the host now; empty where its system has none
	Waiting *Waiting `json:"waiting"` // the plan that waits to be confirmed; null: none
	Changes []Entry  `json:"changes"`
	// Notes are what the scripts of plans say on a host on which linerate does not run.
	Notes []string `json:"notes,omitempty"`
}

// Waiting is a plan that its host undoes at the deadline.
type Waiting struct {
	Plan     string    `json:"plan_id"`
	Deadline time.Time `json:"deadline"`
	Overdue  bool      `json:"overdue,omitempty"` // the time is over, and its changes are in force
	// Unwatched: its watcher is gone, so that nothing undoes it by itself.
	Unwatched bool   `json:"unwatched,omitempty"`
	Alarm     string `json:"-"` // both in words
	// Left is how long it waits still, a second or two more at most; 0: not known.
	Left time.Duration `json:"-"`
}

// ReadHistory reads a host's journal.
func ReadHistory(ctx context.Context, e app.Env, n host.Name, p app.Progress) (History, error) {
	doc := History{V: 1, Host: n.String()}
	began := e.Now()
	err := on(ctx, e, n, p, func(c *host.Client) error {
		all, err := c.History(ctx)
		if err != nil {
			return err
		}
		doc.Changes, doc.BootID = append([]Entry{}, all...), c.Hello().BootID
		w, ok, err := c.Waiting(ctx)
		if ok && err == nil {
			left := w.Deadline.Sub(c.Hello().Clock.Add(e.Now().Sub(began)))
			doc.Waiting = &Waiting{w.Plan, w.Deadline, w.Overdue, w.Unwatched, w.Alarm(), max(0, left)}
		}
		return err
	})
	if f := foreignHost(e.Reach(p), n, err); f != nil {
		doc.Changes = []Entry{}
		doc.Notes, _, err = f.onPlans(ctx, doc.Host, "", "status")
		on, failed := f.statisticsOn(e)
		doc.Notes, err = append(doc.Notes, on...), errors.Join(err, failed)
	}
	return doc, err
}

// Left is what linerate removed of itself from a host.
type Left struct {
	V       int      `json:"v"`
	Host    string   `json:"host"`
	Dir     string   `json:"dir"`
	Removed []string `json:"removed"`
	Kept    []string `json:"kept"` // in dir, and none of linerate's
}

// Leave removes the journal and the program from a host. It refuses while a change is in
// force.
func Leave(ctx context.Context, e app.Env, n host.Name, p app.Progress) (Left, error) {
	doc := Left{V: 1, Host: n.String()}
	err := on(ctx, e, n, p, func(c *host.Client) error {
		res, err := c.Leave(ctx)
		doc.Dir, doc.Removed, doc.Kept = res.Dir, append([]string{}, res.Removed...), append([]string{}, res.Kept...)
		return err
	})
	if f := foreignHost(e.Reach(p), n, err); f != nil {
		err = failure.Of(failure.Usage, "leave %s: on %s linerate keeps nothing but the records of its plans, in %s: remove that directory by hand once no plan is in force", n, f.kind.Name(), f.kind.System().Records())
		return doc, failure.Advise(err, failure.SeeHistory, n.String())
	}
	return doc, err
}
