// Package serve is the work of linerate serve: a live view as a page and as metrics, on this
// machine's loopback. It refuses any other address: a page that others can reach needs a way to
// tell them apart, which it does not have.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/app/watch"
	"linerate/internal/failure"
	"linerate/internal/web"
)

// Options is what is wanted of a page.
type Options struct {
	Watch  watch.Options // Show is not used
	Listen string        // HOST:PORT of the loopback; port 0 takes a free one
	Title  string
	// Serving is called with the page's address once it can be opened.
	Serving func(url string)
}

// Serve shows what goes on until ctx ends.
func Serve(ctx context.Context, e app.Env, o Options, p app.Progress) error {
	if !web.Loopback(o.Listen) {
		return failure.Of(failure.Usage, "serve on %s: only this machine's loopback is served, e.g. 127.0.0.1:8470; from elsewhere reach it by ssh -L 8470:127.0.0.1:8470", o.Listen)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("serve on %s: %w; choose another address with a free port", o.Listen, err)
	}
	view := web.NewView(o.Title, e.Build)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return view.Serve(ctx, ln) })
	o.Serving("http://" + ln.Addr().String() + "/")
	o.Watch.Show = view.Show
	group.Go(func() error {
		if err := watch.Live(ctx, e, o.Watch, p); err != nil {
			return err
		}
		return errEnded
	})
	if err := group.Wait(); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// errEnded ends the server with the view.
var errEnded = errors.New("the view ended")
