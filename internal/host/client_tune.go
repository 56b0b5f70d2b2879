package host

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/tune"
)

// changeTime bounds what changes a host: links that flap take seconds each.
const changeTime = 5 * time.Minute

// change is a call that may take as long as changes do.
func (c *Client) change(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, changeTime, fmt.Errorf("no answer within %v", changeTime))
	defer cancel()
	return c.callUnbounded(ctx, method, params, result)
}

// Apply carries out a plan through the host's journal.
func (c *Client) Apply(ctx context.Context, p model.Plan) (tune.Result, error) {
	var r tune.Result
	err := c.change(ctx, methodApply, p, &r)
	return r, err
}

// ProbePath sends a few packets of size octets from the host to an address that
// nobody may fragment, and fails unless one is answered.
func (c *Client) ProbePath(ctx context.Context, to netip.Addr, size int) error {
	var r none
	return c.call(ctx, methodProbe, probeParams{to, size}, &r)
}

// Confirm keeps what a plan changed: its dead-man is disarmed.
func (c *Client) Confirm(ctx context.Context, planID string) error {
	var r none
	return c.call(ctx, methodConfirm, planParams{planID}, &r)
}

// Waiting returns the plan that waits for its confirmation on the host; false
// when none does.
func (c *Client) Waiting(ctx context.Context) (tune.Waiting, bool, error) {
	var r waitingResult
	if err := c.call(ctx, methodWaiting, none{}, &r); err != nil || r.Waiting == nil {
		return tune.Waiting{}, false, err
	}
	return *r.Waiting, true, nil
}

// Persist makes what a plan changed outlive a restart; with dry it only says
// which files it would write. The plan must not wait to be confirmed.
func (c *Client) Persist(ctx context.Context, planID string, dry bool) ([]tune.FileChange, error) {
	var r []tune.FileChange
	err := c.change(ctx, methodPersist, persistParams{planID, dry}, &r)
	return r, err
}

// PlanFiles says which files would make a plan outlive a restart that was not
// applied yet. It changes nothing.
func (c *Client) PlanFiles(ctx context.Context, p model.Plan) ([]tune.FileChange, error) {
	var r []tune.FileChange
	err := c.call(ctx, methodPlanFiles, p, &r)
	return r, err
}

// Undo restores what a plan changed.
func (c *Client) Undo(ctx context.Context, planID string) (tune.Result, error) {
	return c.UndoWith(ctx, tune.UndoRequest{Plan: planID})
}

// UndoWith restores what r names.
func (c *Client) UndoWith(ctx context.Context, r tune.UndoRequest) (tune.Result, error) {
	var res tune.Result
	err := c.change(ctx, methodUndo, r, &res)
	return res, err
}

// OpenJournal lists the changes of the host that are not undone.
func (c *Client) OpenJournal(ctx context.Context) ([]tune.Entry, error) {
	var r []tune.Entry
	err := c.call(ctx, methodJournal, none{}, &r)
	return r, err
}

// History lists every change that the host's journal has, oldest first.
func (c *Client) History(ctx context.Context) ([]tune.Entry, error) {
	var r []tune.Entry
	err := c.call(ctx, methodHistory, none{}, &r)
	return r, err
}

// Leave removes the journal and the kept binary from the host; it refuses
// while changes are open.
func (c *Client) Leave(ctx context.Context) (tune.LeaveResult, error) {
	var r tune.LeaveResult
	err := c.call(ctx, methodLeave, none{}, &r)
	return r, err
}
