package reach

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Lab reaches the keeper of the lab with this name, or of the only one.
func (d Dialler) Lab(name string) (*lab.Client, error) {
	dir, err := lab.StateDir(d.Getenv, os.Geteuid(), os.TempDir())
	if err != nil {
		return nil, err
	}
	c, err := lab.Connect(dir, name)
	if errors.Is(err, lab.ErrNone) {
		return nil, failure.As(failure.Nothing, err)
	}
	return c, failure.As(failure.Usage, err)
}

// labHost is how an agent gets to a host of a lab that is up.
func (d Dialler) labHost(ctx context.Context, n host.Name) (host.Endpoint, error) {
	c, err := d.Lab(n.Lab)
	var several *lab.SeveralError
	if errors.As(err, &several) {
		return host.Endpoint{}, failure.Of(failure.Usage, "several labs are up (%s): say which before the host, as lab:%s/%s", strings.Join(several.Names, ", "), several.Names[0], n.Host)
	}
	if err != nil {
		return host.Endpoint{}, err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return host.Endpoint{}, err
	}
	h, err := hostOf(s, n.Host)
	if err != nil {
		return host.Endpoint{}, err
	}
	data, err := dataAddress(h)
	if err != nil {
		return host.Endpoint{}, err
	}
	argv := append(slices.Clone(d.Self), "lab", "exec", "--name", c.Name, n.Host, "--")
	self := d.Self
	if len(h.Program) > 0 {
		self = h.Program
	}
	return host.Endpoint{Name: n.Host, Argv: argv, Self: self, Data: data, StateDir: h.StateDir}, nil
}

func hostOf(s lab.Status, name string) (lab.HostStatus, error) {
	var names []string
	for _, h := range s.Hosts {
		if h.Name == name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return lab.HostStatus{}, failure.Of(failure.Usage, "lab %s has no host %q; there are %s", s.Name, name, strings.Join(names, ", "))
}

func dataAddress(h lab.HostStatus) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(h.Data)
	if err != nil {
		return nil, fmt.Errorf("data address of %s: %w", h.Name, err)
	}
	return []netip.Addr{a}, nil
}

// NotStated is the rate of a path that nobody stated.
func NotStated() model.Fact[unit.BitRate] {
	return model.Unknown[unit.BitRate](model.Absent, "not stated; --line-rate states it")
}

// StatedRate is what the description of a lab promises for its flow from the
// first host to the second's address, as a port's speed would; it says nothing
// of faults. Elsewhere nothing is stated.
func (d Dialler) StatedRate(ctx context.Context, from, to host.Name, addr netip.Addr) model.Fact[unit.BitRate] {
	if from.Reach != host.Lab || to.Reach != host.Lab || from.Lab != to.Lab {
		return NotStated()
	}
	s, err := d.labStatus(ctx, from.Lab)
	if err != nil {
		return NotStated()
	}
	r, ok := promised(s, from.Host, to.Host)
	if !ok || addr != r.Addrs[1] {
		return NotStated()
	}
	d.logged(s)
	return model.Known(r.Rate)
}

// StatedRates is StatedRate between each two of some hosts, whichever of them sends, by their places, the lower
// first; what is not stated is not in it. Each lab's rate is logged once.
func (d Dialler) StatedRates(ctx context.Context, hosts []host.Name) map[[2]int]model.StatedRate {
	labs, out := map[string][]int{}, map[[2]int]model.StatedRate{}
	for i, n := range hosts {
		if n.Reach == host.Lab {
			labs[n.Lab] = append(labs[n.Lab], i)
		}
	}
	for name, in := range labs {
		s, err := d.labStatus(ctx, name)
		if err != nil {
			continue // its rates are not stated then
		}
		before := len(out)
		for _, from := range in {
			for _, to := range in {
				if r, ok := promised(s, hosts[from].Host, hosts[to].Host); ok {
					out[[2]int{min(from, to), max(from, to)}] = r
				}
			}
		}
		if len(out) > before {
			d.logged(s)
		}
	}
	return out
}

func (d Dialler) labStatus(ctx context.Context, name string) (lab.Status, error) {
	c, err := d.Lab(name)
	if err != nil {
		return lab.Status{}, err
	}
	return c.Status(ctx)
}

// promised is the rate that a lab's description has for the flow from one host to another: between
// the addresses that the lab gave them for data, the sender's first. False: there is no such flow.
func promised(s lab.Status, from, to string) (model.StatedRate, bool) {
	if !slices.Contains(s.Flow.From, from) || s.Flow.To != to {
		return model.StatedRate{}, false
	}
	out := model.StatedRate{Rate: unit.BitRate(s.Flow.Rate)}
	for _, name := range []string{from, to} {
		h, err := hostOf(s, name)
		if err != nil {
			return model.StatedRate{}, false
		}
		a, err := dataAddress(h)
		if err != nil {
			return model.StatedRate{}, false
		}
		out.Addrs = append(out.Addrs, a...)
	}
	return out, true
}

// logged logs the rate of a lab's flow.
func (d Dialler) logged(s lab.Status) {
	if d.Log != nil {
		d.Log(fmt.Sprintf("line rate: %s, as topology %s states it", unit.BitRate(s.Flow.Rate), s.Topology))
	}
}
