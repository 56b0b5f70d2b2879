package site

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/fleet"
	"linerate/internal/fleet/desk"
	"linerate/internal/reach"
)

// againTime is between attempts to reach the site's own brokers.
const againTime = 2 * time.Second

// serveCluster keeps a site whose brokers an operator runs, until ctx ends. Brokers that are not
// there yet are waited for: their files are made first.
func serveCluster(ctx context.Context, e app.Env, o Options, p app.Progress) (err error) {
	if err := errors.Join(fleet.CheckSite(o.Site), fleet.CheckServers(o.Servers)); err != nil {
		return failure.As(failure.Usage, err)
	}
	root, err := reach.SitesDir(os.Geteuid(), e.Getenv)
	if err != nil {
		return err
	}
	d, err := desk.Open(filepath.Join(root, o.Site), o.Site, o.Servers, e.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	dir, err := d.Cluster()
	if err != nil {
		return err
	}
	p.Say("each broker is started with the files of its directory in %s (nats-server -c nats-server.conf there; docs/fleet.md)", dir)
	f, err := attach(ctx, d, p)
	if err != nil {
		return err
	}
	defer f.Close()
	return keep(ctx, d, o, strings.Join(o.Servers, ", "), p, func(ctx context.Context) error {
		<-ctx.Done() // brokers that go away are waited for
		return nil
	})
}

// attach takes the desk's place at the brokers, as soon as one of them is there, and tells them
// whom they let in.
func attach(ctx context.Context, d *desk.Desk, p app.Progress) (*fleet.Front, error) {
	said := ""
	for {
		f, err := d.Attach(d.Brokers(), func(err error) { p.Detail(err.Error()) })
		if err == nil {
			if err = d.Told(d.Brokers()); err == nil {
				return f, nil
			}
			f.Close()
		}
		if text := failure.FirstLine(err); text != said {
			p.Say("no broker serves the site yet (%s); trying again", text)
			said = text
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(againTime):
		}
	}
}
