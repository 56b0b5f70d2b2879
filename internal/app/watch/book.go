package watch

import (
	"context"
	"net/netip"
	"strings"
	"sync"

	"linerate/internal/failure"
	"linerate/internal/host"
)

// book has the addresses by which hosts that are watched together know each other. One is filled in
// when its host is reached, which may be long after the others. An address that several hosts have,
// as each has that of its bridge for containers, is nobody's: which of them is meant cannot be told.
type book struct {
	mu    sync.Mutex
	known []bool
	all   [][]netip.Addr
	alone [][]netip.Addr // those of all that no other has
}

func newBook(n int) *book {
	return &book{known: make([]bool, n), all: make([][]netip.Addr, n), alone: make([][]netip.Addr, n)}
}

// look asks host i for its addresses. It closes an agent that does not tell them.
func (b *book) look(ctx context.Context, i int, n host.Name, agent *host.Client) error {
	addrs, err := addresses(ctx, n, agent)
	if err != nil {
		_ = agent.Close() // what is wrong is known
		return err
	}
	b.set(i, addrs)
	return nil
}

func (b *book) set(i int, addrs []netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[i], b.all[i] = true, addrs
	count := map[netip.Addr]int{}
	for _, addrs := range b.all {
		for _, a := range addrs {
			count[a]++
		}
	}
	for k, addrs := range b.all {
		var alone []netip.Addr // a new list: the old one is with those who asked
		for _, a := range addrs {
			if count[a] == 1 {
				alone = append(alone, a)
			}
		}
		b.alone[k] = alone
	}
}

// own are the addresses of host i alone.
func (b *book) own(i int) []netip.Addr {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.alone[i]
}

// peers are the addresses of all others.
func (b *book) peers(i int) (out []netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, addrs := range b.alone {
		if k != i {
			out = append(out, addrs...)
		}
	}
	return out
}

// check refuses hosts that were reached and have no address of their own.
func (b *book) check(names []string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, addrs := range b.alone {
		if b.known[i] && len(addrs) == 0 {
			return failure.Of(failure.Nothing, "watch %s: %s has no address of its own by which the others could know it: are two of them the same host?", strings.Join(names, " "), names[i])
		}
	}
	return nil
}
