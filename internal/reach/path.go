package reach

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/model"
)

// NoRouteError: the main routing table leads nowhere near an address.
type NoRouteError struct{ To netip.Addr }

// Error implements error.
func (e *NoRouteError) Error() string { return fmt.Sprintf("no route to %s", e.To) }

// Path chooses the addresses that carry the data from the first host to the second. The second's is
// via if that is not empty, else the lab's, else what its name resolves to. The first's is the one
// on the same network; on systems other than Linux, the one that the system names.
func Path(ctx context.Context, via string, names []host.Name, agents []*host.Client) (from, to netip.Addr, err error) {
	if to, err = Receiver(ctx, via, names[1], agents[1]); err != nil {
		return from, to, err
	}
	if os := agents[0].Hello().OS; os != "linux" {
		if from, err = agents[0].SourceTo(ctx, to); err != nil {
			err = fmt.Errorf("find the data path from %s: %w", names[0], err)
		}
		return from, to, err
	}
	from, err = sender(ctx, names[0], agents[0], to)
	return from, to, err
}

// TwoHosts refuses a data path that stays within one host: what is measured there says nothing about
// a network. It is met where a host is named twice, by two names, or where a name resolves to a
// loopback address, as a host's own does on some systems.
func TwoHosts(from, to netip.Addr) error {
	switch {
	case to.Unmap().IsLoopback():
		return failure.Advise(failure.Of(failure.Usage, "%s is an address that no other host reaches", to), failure.NameAddress)
	case from == to:
		return failure.Of(failure.Usage, "%s is the address of both ends: they are one host by two names, and two are needed", to)
	}
	return nil
}

// sender is a host's address towards a destination, as its facts say.
func sender(ctx context.Context, n host.Name, agent *host.Client, to netip.Addr) (netip.Addr, error) {
	f, err := agent.Facts(ctx)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("look at %s: %w", n, err)
	}
	from, err := Source(f, to)
	if err != nil {
		return from, fmt.Errorf("find the data path from %s: %w", n, err)
	}
	return from, nil
}

// Receiver is the data address of a host: via where it is not empty, else the
// one that was stated for it, else what its name resolves to, or what the user's ssh configuration
// has for a name that is only known there.
func Receiver(ctx context.Context, via string, n host.Name, agent *host.Client) (netip.Addr, error) {
	if via != "" {
		return Via(via)
	}
	if data := agent.Data(); len(data) > 0 {
		return data[0], nil
	}
	if n.Host == Here {
		return netip.Addr{}, failure.Advise(failure.Of(failure.Usage, "it is not known to which address of this machine data is to be sent: it may have several"), failure.NameAddress)
	}
	if n.Reach == host.Site {
		return netip.Addr{}, failure.Advise(failure.Of(failure.Usage, "the data address of %s is not known: what it is called in its site need not be a name on the network", n), failure.NameAddress)
	}
	addrs, err := kernel.Resolve(ctx, n.Host)
	if err != nil && n.Reach == host.SSH {
		addrs, err = aliased(ctx, n, err)
	}
	if err != nil {
		return netip.Addr{}, failure.Advise(fmt.Errorf("find the data address of %s: %w", n, err), failure.NameAddress)
	}
	return addrs[0], nil
}

// aliased resolves what ssh connects to for a name that is none on the network.
func aliased(ctx context.Context, n host.Name, unknown error) ([]netip.Addr, error) {
	name, err := host.Ssh{}.HostName(ctx, n)
	if err != nil || name == n.Host {
		return nil, unknown // that says what is missing; ssh has reached the host already
	}
	addrs, err := kernel.Resolve(ctx, name)
	if err == nil && addrs[0].Unmap().IsLoopback() {
		return nil, unknown // ssh goes there by a forwarded port
	}
	return addrs, err
}

// Via reads a data address that was stated.
func Via(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return a, failure.Of(failure.Usage, "data address %q: want an IP address of the receiver, e.g. 10.0.0.2", text)
	}
	return a, nil
}

// Source is a host's address towards a destination: the one its route names,
// else that of the interface the route leads through.
func Source(f *model.Facts, to netip.Addr) (netip.Addr, error) {
	route, ok := f.RouteTo(to)
	if !ok {
		return netip.Addr{}, &NoRouteError{to}
	}
	if route.Src.IsValid() {
		return route.Src, nil
	}
	i := slices.IndexFunc(f.NICs, func(n model.NIC) bool { return n.Name == route.Dev })
	if i >= 0 {
		for _, p := range f.NICs[i].Addrs {
			if p.Addr().Is4() == to.Is4() && !p.Addr().IsLinkLocalUnicast() {
				return p.Addr(), nil
			}
		}
	}
	return netip.Addr{}, errors.New("the interface " + route.Dev + " has no address of that kind")
}
