package explain

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/explain"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/reach"
)

// ClimbOptions is what is wanted of two hosts.
type ClimbOptions struct {
	app.Stream
	For   time.Duration // how long to watch a transfer that runs over the export's mount
	Write string        // directory of the mount to write a file in; empty writes nothing
	// Allow is asked before anything is loaded, with what is going to be. Its error
	// ends the climb: load on a production network is the user's to allow.
	Allow func(load string) error
}

// Climb climbs the ladder between two hosts and judges it from both ends. It changes
// nothing on either. With an export the first host is its client: a transfer that runs
// is watched without load; otherwise the export is read.
func Climb(ctx context.Context, e app.Env, h app.Pair, o ClimbOptions, p app.Progress) (*app.Record, error) {
	if h.Names[1].Path == "" { // an export is watched first, which needs no leave
		if err := o.Allow(o.loads(h.Names)); err != nil {
			return nil, err
		}
	}
	defer h.Close()
	d := e.Reach(p)
	if err := h.Dial(ctx, d); err != nil {
		return nil, err
	}
	export, err := h.Export(ctx, o.Stream)
	if err != nil {
		return nil, err
	}
	way, err := h.Way(ctx, d, o.Stream, export)
	bed := app.NewBed(ctx, d, h.Names)
	c := loop.Climb{
		Loop: loop.Loop{
			Sender: way.Sender, Receiver: way.Receiver, LineRate: way.LineRate, Now: e.Now, Progress: app.Steps(p),
			Lost: bed.Lost,
		},
		Export: export,
	}
	var unrouted *reach.NoRouteError
	if errors.As(err, &unrouted) {
		c.Export = nil // nothing of it can be read
		return c.Unrouted(ctx, unrouted.To)
	}
	if err != nil {
		return nil, err
	}
	if export != nil {
		rec, err := watchMount(ctx, c, o.For, p)
		if rec != nil || err != nil {
			return warned(ctx, rec, bed), err
		}
		if err := o.Allow(o.loads(h.Names)); err != nil {
			return nil, err
		}
	}
	p.Say("data path: %s", way)
	c.Workload.Streams, c.Workload.CC, c.Timing = o.Streams, o.CC, loop.DefaultTiming()
	c.Streams, c.Write = o.Streams, o.Write
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("draw a token: %w", err)
	}
	c.Token = hex.EncodeToString(secret)
	rec, err := c.Run(ctx)
	return warned(ctx, rec, bed), err
}

// warned adds to a record, which may be nil, what its hosts' labs lost meanwhile.
func warned(ctx context.Context, rec *app.Record, bed app.Bed) *app.Record {
	if rec != nil {
		rec.Results.Warnings = append(rec.Results.Warnings, bed.Warnings(ctx)...)
	}
	return rec
}

// watchMount looks whether a transfer runs over the client's mount, and if so judges it
// from both ends without load. It returns nothing where the mount is idle.
func watchMount(ctx context.Context, c loop.Climb, watch time.Duration, p app.Progress) (*app.Record, error) {
	server, client, mount := c.Sender.Name, c.Receiver.Name, c.Export.Mount.Point
	if mount == "" {
		p.Say("%s has not mounted %s of %s: what can be measured is the network and the server's storage", client, c.Export.Name, server)
		return nil, nil
	}
	p.Say("watching %s from both ends for a transfer, without load", mount)
	return c.WatchExport(ctx, watch)
}

// loads is what a climb puts on hosts and link.
func (o ClimbOptions) loads(names []host.Name) string {
	t, r := loop.DefaultTiming(), loop.DefaultRungTime()
	s := fmt.Sprintf("TCP at full speed between %s and %s for %s, and %s each in several streams both ways; before that a copy of memory (%s) and TCP inside each host (%s)",
		names[0], names[1], t.Diagnosis, r.Streams, r.Copy, 2*r.Loopback)
	s += fmt.Sprintf("; where losses have two possible causes, TCP once more, evenly at the rate reached, for at most %s, and where only some connections are worse off as many again from other ports for %s", explain.LongestPaced(), explain.PortsTime)
	if names[1].Path != "" {
		s += fmt.Sprintf("; then it reads one file of the export, on the server and over the mount, for at most %s each", r.Read)
	}
	if o.Write != "" {
		return s + fmt.Sprintf("; then it writes a new file below %s on %s for at most %s and removes it. It stops when others need the link", o.Write, names[0], r.Read)
	}
	return s + ". It writes nothing and stops when others need the link"
}
