package host

import (
	"context"
	"net/netip"

	"linerate/internal/model"
	"linerate/internal/probe"
)

// ProbeOpen implements probe.End.
func (c *Client) ProbeOpen(ctx context.Context, s probe.Spec) (id int, port uint16, err error) {
	var r openedResult
	err = c.call(ctx, methodProbeOpen, s, &r)
	return r.ID, r.Port, err
}

// ProbeSend implements probe.End.
func (c *Client) ProbeSend(ctx context.Context, id int, b probe.Batch) (probe.Sent, error) {
	var r probe.Sent
	err := c.call(ctx, methodProbeSend, sendProbeParams{id, b}, &r)
	return r, err
}

// ProbeAwait implements probe.End.
func (c *Client) ProbeAwait(ctx context.Context, id int, w probe.Await) (probe.Heard, error) {
	var r probe.Heard
	err := c.call(ctx, methodProbeAwait, awaitProbeParams{id, w}, &r)
	return r, err
}

// ProbeEcho implements probe.End.
func (c *Client) ProbeEcho(ctx context.Context, id int, e probe.Echo) (model.RTT, error) {
	var r rttResult
	err := c.call(ctx, methodProbeEcho, echoProbeParams{id, e}, &r)
	return r.RTT, err
}

// ProbeClose implements probe.End.
func (c *Client) ProbeClose(ctx context.Context, id int) error {
	return c.call(ctx, methodProbeClose, idParams{id}, &none{})
}

// LookToward implements probe.End.
func (c *Client) LookToward(ctx context.Context, from, to netip.Addr) (probe.Toward, error) {
	var r probe.Toward
	err := c.call(ctx, methodToward, towardParams{from, to}, &r)
	return r, err
}
