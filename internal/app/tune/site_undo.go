package tune

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/reach"
)

// SiteUndone is what an undo on many hosts put back.
type SiteUndone struct {
	V     int          `json:"v"`
	Site  string       `json:"site"`
	Hosts []HostUndone `json:"hosts"`
}

// HostUndone is what it put back on one host.
type HostUndone struct {
	Restored
	Error string `json:"error,omitempty"` // why not all of it is undone
}

// UndoSite puts back what linerate changed on the hosts of a site. The error is of hosts on which
// it did not; the others are told all the same. A plan that a host never had is nothing to undo.
func UndoSite(ctx context.Context, e app.Env, site, selection string, u UndoRequest, p app.Progress) (SiteUndone, error) {
	doc := SiteUndone{V: 1, Site: selection, Hosts: []HostUndone{}}
	hosts, err := e.Reach(p).SiteHosts(ctx, site, selection)
	if err != nil {
		return doc, err
	}
	doc.Hosts = make([]HostUndone, len(hosts))
	index := map[string]int{}
	r := newRollout(e, SiteRequest{}, p, "")
	for i, h := range hosts {
		m := &member{Name: reach.SiteName(site, h.Name), host: host.Name{Reach: host.Site, Site: site, Host: h.Name}}
		if !h.Here {
			m.err = reach.NotHere(h)
		}
		index[m.Name] = i
		r.members = append(r.members, m)
	}
	var done, strange atomic.Int64
	r.each(r.members, atOnceOfSite, func(m *member) {
		x := &doc.Hosts[index[m.Name]]
		x.Restored = Restored{V: 1, Host: m.Name, Changes: []Entry{}, Notes: []string{}}
		err := m.err
		if err == nil {
			x.Restored, err = Undo(ctx, e, m.host, u, muted{p})
		}
		var never *Error
		if errors.As(err, &never) && never.What == NeverHadPlan {
			err = nil
			strange.Add(1)
		}
		if err != nil {
			x.Error = failure.FirstLine(err)
		}
		p.Tick("hosts", fmt.Sprintf("%d of %d hosts are done", done.Add(1), len(hosts)))
	})
	if u.Plan != "" && strange.Load() == int64(len(hosts)) {
		err := failure.Of(failure.Usage, "none of the hosts %s has a plan %q in its history", selection, u.Plan)
		return SiteUndone{}, failure.Advise(err, failure.SeeHistory, reach.SiteName(site, hosts[0].Name))
	}
	failed, first := 0, ""
	for _, h := range doc.Hosts {
		if h.Error != "" {
			if failed++; first == "" {
				first = h.Host + ": " + h.Error
			}
		}
	}
	if failed > 0 {
		return doc, failure.Of(failure.NotRestored, "on %d of %d hosts not everything is undone: %s", failed, len(hosts), first)
	}
	return doc, nil
}
