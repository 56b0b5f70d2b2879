package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/tune"
)

// changeTime bounds calls that change a host: each link that goes down and up takes seconds.
const changeTime = 5 * time.Minute

// change makes a call that changes the host. Once that is sent, the host goes on with it
// whatever the caller does, so that an interrupted caller waits for the answer: it has to know
// what was done, and to undo it only after that.
func change[P, R any](ctx context.Context, c *Client, m method[P, R], params P) (R, error) {
	if ctx.Err() != nil {
		return *new(R), c.explain(ctx, m.name, ctx.Err())
	}
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(c.o.lateTime)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(fmt.Errorf("%w, and %w within %v after that", context.Cause(ctx), errNoAnswer, c.o.lateTime))
		case <-late.Done():
		}
	})
	defer stop()
	return ask(late, c, m, params)
}

// Unanswered tells whether a call ended without the host's answer: what it did is not known.
func Unanswered(err error) bool { return errors.Is(err, errNoAnswer) || errors.Is(err, errGone) }

// Apply carries out a plan through the host's journal.
func (c *Client) Apply(ctx context.Context, p model.Plan) (tune.Result, error) {
	return change(ctx, c, methodApply, p)
}

// ProbePath sends a few packets of size octets from the host to an address, with the
// don't-fragment bit set, and fails unless one is answered.
func (c *Client) ProbePath(ctx context.Context, to netip.Addr, size int) error {
	_, err := ask(ctx, c, methodProbe, probeParams{to, size})
	return err
}

// Confirm keeps what a plan changed: its dead-man is disarmed.
func (c *Client) Confirm(ctx context.Context, planID string) error {
	_, err := change(ctx, c, methodConfirm, planParams{planID})
	return err
}

// Waiting returns the plan that waits for confirmation on the host; false if none does.
func (c *Client) Waiting(ctx context.Context) (tune.Pending, bool, error) {
	r, err := ask(ctx, c, methodWaiting, none{})
	if err != nil || r.Waiting == nil {
		return tune.Pending{}, false, err
	}
	return tune.Pending{Waiting: *r.Waiting, Overdue: r.Overdue, Unwatched: r.Unwatched}, true, nil
}

// Persist makes the changes of a plan survive a reboot; with dry it only returns which files
// it would write. The plan must not be waiting for confirmation.
func (c *Client) Persist(ctx context.Context, planID string, dry bool) ([]tune.FileChange, error) {
	return change(ctx, c, methodPersist, persistParams{planID, dry})
}

// PlanFiles returns which files would make a plan, which need not be applied yet, survive a
// reboot. It changes nothing.
func (c *Client) PlanFiles(ctx context.Context, p model.Plan) ([]tune.FileChange, error) {
	return ask(ctx, c, methodPlanFiles, p)
}

// Undo restores what a plan changed.
func (c *Client) Undo(ctx context.Context, planID string) (tune.Result, error) {
	return c.UndoWith(ctx, tune.UndoRequest{Plan: planID})
}

// UndoWith restores what r names.
func (c *Client) UndoWith(ctx context.Context, r tune.UndoRequest) (tune.Result, error) {
	return change(ctx, c, methodUndo, r)
}

// OpenJournal lists the changes of the host that are not undone.
func (c *Client) OpenJournal(ctx context.Context) ([]tune.Entry, error) {
	return ask(ctx, c, methodJournal, none{})
}

// History lists every change that the host's journal has, oldest first.
func (c *Client) History(ctx context.Context) ([]tune.Entry, error) {
	return ask(ctx, c, methodHistory, none{})
}

// Leave removes the journal and the kept binary from the host; it refuses
// while changes are open.
func (c *Client) Leave(ctx context.Context) (tune.LeaveResult, error) {
	return change(ctx, c, methodLeave, none{})
}
