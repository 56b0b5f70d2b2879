package check

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel/snmp"
	"linerate/internal/model"
)

// lookAtSwitches adds to each host's facts what its switches say: what the host
// hears by LLDP, and what the switches answer by SNMP. Counters are read twice,
// before and after the listening.
func (w work) lookAtSwitches(ctx context.Context, seen []looked) {
	if w.LLDP == 0 && len(w.Switches) == 0 {
		return
	}
	asked := w.askSwitches(ctx, seen)
	defer func() {
		for _, a := range asked {
			_ = a.session.Close() // it has told what we want to know
		}
	}()
	if w.LLDP > 0 {
		w.p.Say("listening %s for what switches say of themselves", w.LLDP)
	}
	plugged := make([]host.Plugged, len(seen))
	var wait sync.WaitGroup
	for i := range seen {
		if seen[i].err == nil {
			wait.Go(func() { plugged[i] = hear(ctx, &seen[i], w.LLDP) })
		}
	}
	wait.Wait()
	countAgain(ctx, asked, seen)
	for i, l := range seen {
		if l.err != nil {
			continue
		}
		heard := facts.HeardPorts(plugged[i].Heard)
		l.facts.Switches = append(l.facts.Switches, heard...)
		for _, a := range asked {
			ports := a.ports.Ports(l.facts.Hostname, heard, plugged[i].MACs)
			l.facts.Switches = append(l.facts.Switches, ports...)
			for _, p := range ports {
				if p.Queues.State != model.Present {
					l.facts.CouldNotSee = append(l.facts.CouldNotSee, model.Blind{What: fmt.Sprintf("queues of %s of switch %s", p.Port, a.ports.Address), WouldShow: "which queue drops, and its buffer", How: p.Queues.Why})
				}
			}
			if len(ports) == 0 {
				blind(l.facts, "the port of switch "+a.ports.Address, "nothing tells which port leads to this host: run lldpd here, or check as root with --lldp 35s")
			}
		}
	}
}

// CommunityVariable is the variable of the environment that holds the community where
// no file of credentials is named.
const CommunityVariable = snmp.CommunityVariable

// MaxLLDP is the longest that a host listens for switches.
const MaxLLDP = host.MaxHear

// asked is a switch that answered.
type asked struct {
	session *snmp.Session
	ports   *facts.Switch
	at      time.Time
}

// between is how long counters are watched at least.
const between = 2 * time.Second

// askSwitches reads the switches; one that cannot be read is told at each host.
func (w work) askSwitches(ctx context.Context, seen []looked) []asked {
	var out []asked
	for _, address := range w.Switches {
		a, err := w.askSwitch(ctx, address)
		if err == nil {
			out = append(out, a)
			continue
		}
		for _, l := range seen {
			if l.err == nil {
				blind(l.facts, "switch "+address, failure.FirstLine(err))
			}
		}
	}
	return out
}

func (w work) askSwitch(ctx context.Context, address string) (asked, error) {
	login := snmp.Login{Community: w.Getenv(CommunityVariable)}
	if w.Login != "" {
		var err error
		if login, err = snmp.ReadLogin(w.Login); err != nil {
			return asked{}, err
		}
	} else if login.Community == "" {
		return asked{}, fmt.Errorf("ask switch %s: no credentials; put them into a file for --switch-login, or the community into %s", address, CommunityVariable)
	}
	w.p.Say("asking switch %s by SNMP", address)
	s, err := snmp.Open(ctx, address, login)
	if err != nil {
		return asked{}, err
	}
	ports, err := facts.ReadSwitch(s, address)
	if err != nil {
		return asked{}, errors.Join(err, s.Close())
	}
	return asked{s, ports, time.Now()}, nil
}

// countAgain reads the counters again.
func countAgain(ctx context.Context, list []asked, seen []looked) {
	for _, a := range list {
		select {
		case <-ctx.Done():
			return
		case <-time.After(between - time.Since(a.at)):
		}
		later, err := facts.ReadCounters(a.session)
		if err == nil {
			a.ports.Grow(later)
			continue
		}
		for _, l := range seen {
			if l.err == nil {
				blind(l.facts, "the counters of switch "+a.ports.Address+", a second time", failure.FirstLine(err))
			}
		}
	}
}

// hear listens on a host; what went wrong stands among what was not seen.
func hear(ctx context.Context, l *looked, wait time.Duration) host.Plugged {
	var out host.Plugged
	var err error
	if l.foreign {
		blind(l.facts, "what switches say by LLDP", "no linerate runs on that host; ask the switch itself with --switch")
		return out
	}
	if l.agent != nil {
		out, err = l.agent.HearSwitches(ctx, wait)
	} else {
		out, err = host.Hear(ctx, wait)
	}
	switch {
	case err != nil:
		blind(l.facts, "what switches say by LLDP", failure.FirstLine(err))
	case out.Denied != "":
		blind(l.facts, "what switches say by LLDP", "run as root on that host: "+out.Denied)
	case wait > 0 && len(out.Heard) == 0:
		blind(l.facts, "what switches say by LLDP", fmt.Sprintf("nothing came within %s: switches speak every 30 s where LLDP is on (lldp run, set protocols lldp); ports of some cards keep it from the host", wait))
	}
	return out
}

func blind(f *model.Facts, what, how string) {
	f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: what, WouldShow: "MTU, group and drops of the switch port", How: how})
}
