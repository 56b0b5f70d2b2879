package loop

import (
	"context"

	"linerate/internal/probe"
)

// cross probes the way of the data with some datagrams: its routers, and where its MTU falls. A
// way that cannot be probed is judged without.
func (c *Climb) cross(ctx context.Context) {
	from, can := c.Sender.Agent.(probe.End)
	to, also := c.Receiver.Agent.(probe.End)
	if !can || !also || c.Token == "" {
		return
	}
	c.say("probing the way from %s to %s with some UDP datagrams", c.Sender.Name, c.Receiver.Name)
	r, err := probe.Between(ctx, probe.Side{Name: c.Sender.Name, End: from, Addr: c.Sender.Addr}, probe.Side{Name: c.Receiver.Name, End: to, Addr: c.Receiver.Addr}, c.Token)
	if err != nil {
		c.note("the way from %s to %s was not probed for its routers and MTU: %v", c.Sender.Name, c.Receiver.Name, err)
		return
	}
	c.way = &r.AToB
}
