// Package site is the work of linerate agent, and of linerate serve --nats: a site of hosts whose
// agents call out. On the machine that keeps the site it runs the desk and the broker, makes
// tokens, lists and revokes hosts; on a host it enrols it and runs its agent.
//
// It refuses tokens from anywhere but a file or a pipe, to enrol a host twice, and to run a site
// whose broker is gone.
package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/fleet"
	"linerate/internal/fleet/desk"
	"linerate/internal/kernel"
	"linerate/internal/reach"
)

// brokerProgram is the NATS server that is handed out beside this program.
const brokerProgram = "linerate-broker"

// Options is what is wanted of a site.
type Options struct {
	Site   string
	Listen string // HOST:PORT where hosts reach the broker that linerate starts
	// Servers are the site's own brokers, nats://HOST:PORT, which an operator runs; then none is
	// started.
	Servers []string
	// Serving is called once the site answers.
	Serving func(url string)
}

// Serve keeps a site until ctx ends, or its broker does.
func Serve(ctx context.Context, e app.Env, o Options, p app.Progress) (err error) {
	if len(o.Servers) > 0 {
		return serveCluster(ctx, e, o, p)
	}
	at, port, err := o.listen()
	if err != nil {
		return err
	}
	if err := fleet.CheckSite(o.Site); err != nil {
		return failure.As(failure.Usage, err)
	}
	program, err := findBroker(e)
	if err != nil {
		return err
	}
	root, err := reach.SitesDir(os.Geteuid(), e.Getenv)
	if err != nil {
		return err
	}
	d, err := desk.Open(filepath.Join(root, o.Site), o.Site, []string{"nats://" + net.JoinHostPort(at, strconv.Itoa(port))}, e.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	task, err := d.Task(at, port)
	if err != nil {
		return err
	}
	b, err := desk.StartBroker(ctx, []string{program}, task)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // its stdin may be closed already: it is gone then
	f, err := d.Attach(b, func(err error) { p.Detail(err.Error()) })
	if err != nil {
		return err
	}
	defer f.Close()
	return keep(ctx, d, o, b.URL, p, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-b.Ended():
			return b.How()
		}
	})
}

// keep answers until the end, or that of while.
func keep(ctx context.Context, d *desk.Desk, o Options, url string, p app.Progress, while func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.Serve(ctx) })
	group.Go(func() error { return while(ctx) })
	if old := d.Elsewhere(); len(old) > 0 {
		p.Say("hosts that were enrolled before call %s, and not this address: enrol them anew", old)
	}
	o.Serving(url)
	return group.Wait()
}

// listen is the address that the broker listens on, and which hosts call.
func (o Options) listen() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(o.Listen)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, failure.Of(failure.Usage, "listen on %q: want HOST:PORT, such as 10.0.0.5:4222", o.Listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "", 0, failure.Of(failure.Usage, "listen on %s: name the one address or name by which hosts reach this machine, such as 10.0.0.5:%d: they check the broker's certificate against it", o.Listen, port)
	}
	return host, port, nil
}

// findBroker finds the broker's program beside this one, else in PATH.
func findBroker(e app.Env) (string, error) {
	if len(e.Self) > 0 {
		self, err := filepath.EvalSymlinks(e.Self[0])
		if err == nil {
			beside := filepath.Join(filepath.Dir(self), brokerProgram)
			if i, err := os.Stat(beside); err == nil && i.Mode().IsRegular() {
				return beside, nil
			}
		}
	}
	found, err := kernel.FindProgram(brokerProgram, e.Getenv("PATH"))
	if err != nil {
		return "", fmt.Errorf("find %s, the NATS server that linerate brings: %w; it comes with linerate's packages and from make build, and lies beside linerate", brokerProgram, err)
	}
	return found, nil
}
