package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"linerate/internal/kernel"
)

// MaxHear bounds how long an agent listens for switches. They announce themselves every 30 s
// (IEEE 802.1AB clause 9.2.5.7, msgTxInterval).
const MaxHear = 5 * time.Minute

func (a *agent) hearSwitches(ctx context.Context, p hearParams) (Plugged, error) {
	if p.For < 0 || p.For > MaxHear {
		return Plugged{}, fmt.Errorf("hear LLDP: for %v, want at most %v", p.For, MaxHear)
	}
	return Hear(ctx, p.For)
}

// Hear listens on this host for switches, and also returns the hardware addresses of its
// interfaces.
func Hear(ctx context.Context, wait time.Duration) (Plugged, error) {
	out := Plugged{Heard: []kernel.Heard{}}
	var err error
	if out.MACs, err = kernel.HardwareAddrs(); err != nil || wait == 0 {
		return out, err
	}
	out.Heard, err = kernel.HearLLDP(ctx, wait)
	if errors.Is(err, fs.ErrPermission) {
		out.Heard, out.Denied, err = []kernel.Heard{}, err.Error(), nil
	}
	return out, err
}

// HearSwitches listens on the host for this time.
func (c *Client) HearSwitches(ctx context.Context, wait time.Duration) (Plugged, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait+c.o.CallTimeout, fmt.Errorf("no answer within %v", wait+c.o.CallTimeout))
	defer cancel()
	return ask(ctx, c, methodSwitch, hearParams{wait})
}
