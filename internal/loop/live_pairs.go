package loop

import (
	"net/netip"
	"slices"

	"linerate/internal/watch"
)

// pairs lists the paths, each by its two ends. Two ends make a path if they have a connection to each
// other, if one has mounted a directory of the other, or if they were a path before and one is lost.
// An end that cannot be judged and belongs to no path is listed as a pair with itself, so that it is
// shown. The search goes over connections and not over all pairs, since of hundreds of hosts few are
// connected to each other.
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
			for _, t := range s.Totals {
				join(i, t.Remote)
			}
		}
		if e.facts != nil {
			for _, m := range e.facts.Mounts {
				if a, err := netip.ParseAddr(m.Options["addr"]); err == nil { // other file systems have no addr=
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
