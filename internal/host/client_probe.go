package host

import (
	"context"
	"net/netip"

	"linerate/internal/model"
	"linerate/internal/probe"
)

// ProbeOpen implements probe.End.
func (c *Client) ProbeOpen(ctx context.Context, s probe.Spec) (id int, port uint16, err error) {
	r, err := ask(ctx, c, methodProbeOpen, s)
	return r.ID, r.Port, err
}

// ProbeSend implements probe.End.
func (c *Client) ProbeSend(ctx context.Context, id int, b probe.Batch) (probe.Sent, error) {
	return ask(ctx, c, methodProbeSend, sendProbeParams{id, b})
}

// ProbeAwait implements probe.End.
func (c *Client) ProbeAwait(ctx context.Context, id int, w probe.Await) (probe.Heard, error) {
	return ask(ctx, c, methodProbeAwait, awaitProbeParams{id, w})
}

// ProbeEcho implements probe.End.
func (c *Client) ProbeEcho(ctx context.Context, id int, e probe.Echo) (model.RTT, error) {
	r, err := ask(ctx, c, methodProbeEcho, echoProbeParams{id, e})
	return r.RTT, err
}

// ProbeClose implements probe.End.
func (c *Client) ProbeClose(ctx context.Context, id int) error {
	_, err := ask(ctx, c, methodProbeClose, idParams{id})
	return err
}

// LookToward implements probe.End.
func (c *Client) LookToward(ctx context.Context, from, to netip.Addr) (probe.Toward, error) {
	return ask(ctx, c, methodToward, towardParams{from, to})
}

// SourceTo is the address that the host would send from to another one.
func (c *Client) SourceTo(ctx context.Context, to netip.Addr) (netip.Addr, error) {
	r, err := ask(ctx, c, methodSource, towardParams{To: to})
	return r.From, err
}

// Samples tells whether the host can be sampled; where it cannot, what a load's own processes
// count is all that there is.
func (c *Client) Samples() bool { return c.hello.OS == "linux" }
