// Package serve is the work of linerate serve: a live view as a page and as metrics, with its
// history. It refuses any address but this machine's loopback where it has no certificate and no
// token: a page that others can reach has to tell them apart.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/app/watch"
	"linerate/internal/failure"
	"linerate/internal/unit"
	"linerate/internal/web"
)

// Options is what is wanted of a page.
type Options struct {
	Watch  watch.Options // Show is not used
	Listen string        // HOST:PORT; port 0 takes a free one
	// TLSCert, TLSKey and TokenFile are files; all three, or none on the loopback.
	TLSCert, TLSKey, TokenFile string
	Title                      string
	Set                        string // what the history is of
	// Mounts are found before the page is served and, while there is none, every now and then; nil:
	// Watch has what is to be watched.
	Mounts func(ctx context.Context, p app.Progress) ([]explain.WatchOptions, error)
	// Keep is how much history is kept; 0: none.
	Keep unit.Bytes
	// PerQueue adds series of each transmit queue, and of each core that receives.
	PerQueue bool
	// AllowChange has the page offer what linerate tune does; Changing is then called with the
	// address at which, which nobody else may learn.
	AllowChange bool
	Changing    func(url string)
	// Serving is called with the page's address once it can be opened.
	Serving func(url string)
}

// heapGrowth is by how many percent the heap grows before garbage is collected: what lives is most of
// it, and collecting it is a small part of the work.
const heapGrowth = 40

// Serve shows what goes on until ctx ends.
func Serve(ctx context.Context, e app.Env, o Options, p app.Progress) error {
	access, err := o.access()
	if err != nil {
		return err
	}
	if err := o.Watch.Check(); err != nil {
		return err
	}
	for _, h := range o.Watch.Here { // what is not there is not served
		if _, err := h.LiveEnd(ctx, e, p); err != nil {
			return err
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return failure.Advise(fmt.Errorf("serve on %s: %w", o.Listen, err), failure.ListenElsewhere)
	}
	view := web.NewView(o.Title, e.Build)
	view.KeepRuns(&kept{env: e})
	o.Watch.Looked = view.Looked
	if o.PerQueue {
		o.Watch.Queues = true
		view.PerQueue()
	}
	o.Watch.Show, o.Watch.Late = view.Show, view.Late
	group, ctx := errgroup.WithContext(ctx)
	if o.Keep > 0 {
		k, err := newKeeper(e, o.Set, o.Keep)
		if err != nil {
			p.Say("no history is kept: %v", err)
		} else {
			k.say = p.Say
			view.Keep(k)
			o.Watch.Show = func(all []watch.Picture) error {
				k.show(all)
				return view.Show(all)
			}
			o.Watch.Late = func(run []watch.Picture) {
				view.Late(run)
				k.late(run)
			}
			writing, stop := context.WithCancel(context.WithoutCancel(ctx))
			kept := make(chan error, 1)
			go func() { kept <- k.run(writing) }()
			defer func() {
				k.last()
				stop()
				if err := <-kept; err != nil {
					p.Say("close history: %v", err)
				}
			}()
		}
	}
	var token string
	if o.AllowChange {
		if token, err = newToken(); err != nil {
			return errors.Join(err, ln.Close())
		}
		c := newChanger(ctx, e, o.Watch.Hosts, o.Watch.LineRate.Or(0), p)
		view.AllowChange(c, token)
		group.Go(c.run)
		defer c.close()
	}
	group.Go(func() error { return view.Serve(ctx, ln, access) })
	o.Serving(access.URL(ln.Addr()))
	if o.AllowChange {
		o.Changing(access.URL(ln.Addr()) + "change#token=" + token)
	}
	if e.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(heapGrowth))
	}
	group.Go(func() error {
		if err := o.live(ctx, e, view, p); err != nil {
			return err
		}
		return errEnded
	})
	if err := group.Wait(); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// live watches what there is. A host that has nothing mounted yet has a page that says so.
func (o Options) live(ctx context.Context, e app.Env, view *web.View, p app.Progress) (err error) {
	quiet := &once{Progress: p, said: map[string]bool{}}
	for o.Mounts != nil {
		if o.Watch.Here, err = o.Mounts(ctx, quiet); err == nil {
			view.Hint("")
			break
		}
		if !errors.Is(err, watch.ErrNoMount) {
			return err
		}
		view.Hint(noMount)
		if err := o.Watch.Show([]watch.Picture{}); err != nil { // pages are told that it goes on
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	return watch.Live(ctx, e, o.Watch, p)
}

// once says nothing twice.
type once struct {
	app.Progress
	said map[string]bool
}

// Say implements app.Progress.
func (o *once) Say(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !o.said[text] {
		o.said[text] = true
		o.Progress.Say("%s", text)
	}
}

// noMount is what the page says of a host that has nothing to be watched.
const noMount = "This machine has no NFS or SMB mount that can be watched. Mount one, and it appears here; or end linerate serve and start it with what to watch: a disk, --attach HOST:PORT for TCP connections, or two hosts or more, as in: linerate serve client1 nas1."

// access is who may see the page.
func (o Options) access() (web.Access, error) {
	given := 0
	for _, f := range []string{o.TLSCert, o.TLSKey, o.TokenFile} {
		if f != "" {
			given++
		}
	}
	switch {
	case given == 3:
		a, err := web.Secure(o.TLSCert, o.TLSKey, o.TokenFile)
		if err != nil {
			return a, failure.As(failure.Usage, err)
		}
		return a, nil
	case given > 0:
		return web.Access{}, failure.Advise(failure.Of(failure.Usage, "serve on %s: a certificate, its key and a token belong together", o.Listen), failure.Secure)
	case !web.Loopback(o.Listen):
		return web.Access{}, failure.Advise(failure.Of(failure.Usage, "serve on %s: others can reach this address, so that it needs a certificate, its key and a token", o.Listen), failure.Secure)
	}
	return web.Access{}, nil
}

// errEnded ends the server with the view.
var errEnded = errors.New("the view ended")
