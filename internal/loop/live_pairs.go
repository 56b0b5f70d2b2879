package loop

import (
	"net/netip"
	"slices"

	"linerate/internal/watch"
)

// pairs are the ends that make a path together: two that have a connection to each other, one of which
// has mounted what is at the other, or of which one is lost and they were a path before. An end that
// cannot be judged and is in none of them is there for itself, so that it is not passed over. Of
// hundreds of hosts few know each other.
func (l *Live) pairs() [][2]int {
	if len(l.ends) == 2 {
		return [][2]int{{0, 1}}
	}
	at := map[netip.Addr]int{}
	for i, e := range l.ends {
		for _, a := range e.Addrs {
			at[a] = i
		}
	}
	found := map[[2]int]bool{}
	join := func(i int, a netip.Addr) {
		if j, ok := at[a.Unmap()]; ok && j != i {
			found[[2]int{min(i, j), max(i, j)}] = true
		}
	}
	alone := map[int]bool{}
	for i, e := range l.ends {
		for _, s := range e.window.Samples() {
			for _, c := range s.Conns {
				join(i, c.Remote.Addr())
			}
		}
		if e.facts != nil {
			for _, m := range e.facts.Mounts {
				if a, err := netip.ParseAddr(m.Options["addr"]); err == nil { // not of a network otherwise
					join(i, a)
				}
			}
		}
		if j, not := e.unfit(l.elapsed()); not && j.State != watch.Starting {
			alone[i] = true
		}
	}
	for k := range l.paths {
		if k[0] != k[1] && (alone[k[0]] || alone[k[1]]) {
			found[k] = true
		}
	}
	for k := range found {
		delete(alone, k[0])
		delete(alone, k[1])
	}
	for i := range alone {
		found[[2]int{i, i}] = true
	}
	out := make([][2]int, 0, len(found))
	for k := range found {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return out
}
