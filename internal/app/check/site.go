package check

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"linerate/internal/app"
	"linerate/internal/reach"
	"linerate/internal/report"
)

// runSite looks at the hosts of a site that were selected. One that its site has not heard of is
// not waited for.
func runSite(ctx context.Context, e app.Env, o Options, p app.Progress, c report.Check) (report.Check, error) {
	hosts, err := e.Reach(p).SiteHosts(ctx, o.Of, o.Site)
	if err != nil {
		return c, err
	}
	for _, h := range hosts {
		o.Hosts = append(o.Hosts, reach.SiteName(o.Of, h.Name))
	}
	w := work{o, e, p}
	c.Hosts = make([]report.HostCheck, len(hosts))
	slots := make(chan struct{}, atOnceOfSite)
	var wait sync.WaitGroup
	var done atomic.Int64
	for i, h := range hosts {
		name := o.Hosts[i]
		if !h.Here {
			c.Hosts[i] = judge(name, looks{}, reach.NotHere(h), o.context())
			done.Add(1)
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			l := w.lookAt(ctx, name)
			l.close()
			c.Hosts[i] = judge(name, l.looks, l.err, o.context())
			p.Tick("hosts", fmt.Sprintf("%d of %d hosts looked at", done.Add(1), len(hosts)))
		})
	}
	wait.Wait()
	c.Groups, c.Lost = report.GroupHosts(c.Hosts)
	return c, nil
}
