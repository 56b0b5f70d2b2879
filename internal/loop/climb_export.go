package loop

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// export measures the server's storage and the path over the client's mount. It
// returns the judgement of the whole path if that found a cause, else found.
func (c *Climb) export(ctx context.Context, found judged) judged {
	file := c.chooseFile(ctx)
	server := load.ReadSpec{Cache: load.Direct, Dir: c.Export.Path}
	switch {
	case c.Export.Disk != "": // the path is that of the LUN's backing store
		server.File, server.Dir, server.Device = c.Export.Path, "", true
	case file != "":
		server.File, server.Dir = path.Join(c.Export.Path, file), ""
	}
	// A storage rung records its own failure, and the climb goes on.
	_ = c.load(ctx, explain.RungDisk, func(ctx context.Context) error {
		return c.serverRead(ctx, explain.RungDisk, &server)
	})
	whole := explain.RungWhole
	if c.Export.RAM {
		whole = explain.RungRAM // the same read; a difference is then due to the protocol
	}
	_ = c.load(ctx, whole, func(ctx context.Context) error {
		seen, err := c.mountRead(ctx, whole, file)
		if err != nil {
			return err
		}
		if j := c.moreReaders(ctx, whole, judge(seen)); j.verdict.Limiter != model.Undetermined || len(j.verdict.Alternatives) > 0 {
			known := c.ground
			j.kase.Ground = &known
			found = judge(j.kase)
		}
		return nil
	})
	if !c.Export.RAM {
		c.missed(explain.RungRAM, fmt.Errorf("%s lies on no tmpfs or RAM disk of %s; export one there and name it", c.Export.Path, c.Sender.Name))
	}
	if c.Write != "" {
		_ = c.load(ctx, explain.RungWrite, c.mountWrite)
	}
	server.Cache = load.Kept
	_ = c.load(ctx, explain.RungCached, func(ctx context.Context) error {
		return c.serverRead(ctx, explain.RungCached, &server)
	})
	return found
}

// chooseFile returns the file to read, relative to the export: the user's, or else the largest
// that the client sees; empty: the server chooses.
func (c *Climb) chooseFile(ctx context.Context) string {
	if c.Export.File != "" || c.Export.Mount.Point == "" || c.Export.Disk != "" || c.stopped != nil {
		return c.Export.File
	}
	c.say("looking for the largest file below %s on %s", c.Export.Dir, c.Receiver.Name)
	spec := load.Spec{Role: load.Read, Duration: c.Rungs.Read, Read: &load.ReadSpec{Dir: c.Export.Dir, Cache: load.Dropped}}
	found := ""
	_, err := c.local(ctx, c.Receiver, spec, func(up worker.Event) error {
		rest, ok := below(up.Alone.File, c.Export.Dir)
		if !ok {
			return fmt.Errorf("%s is not below %s", up.Alone.File, c.Export.Dir)
		}
		found = rest
		return errFileKnown
	})
	if err != nil && !errors.Is(err, errFileKnown) {
		c.note("%s: %v", c.Receiver.Name, err)
	}
	return found
}

var errFileKnown = errors.New("the file is known")

// serverRead reads the file on the server.
func (c *Climb) serverRead(ctx context.Context, name string, what *load.ReadSpec) error {
	if err := c.quiet(ctx); err != nil {
		return err
	}
	spec := load.Spec{Role: load.Read, Duration: c.Rungs.Read, Read: what}
	var res load.Result
	err := c.guarded(ctx, func(ctx context.Context, each func(string, model.Sample)) error {
		stop, err := c.sample(ctx, nil, each)
		if err != nil {
			return err
		}
		res, err = c.local(ctx, c.Sender, spec, func(up worker.Event) error {
			c.say("load: %s reads %s from its own disk for at most %v: %s", c.Sender.Name, up.Alone.File, spec.Duration, up.Alone.Method)
			return nil
		})
		_, serr := stop()
		return errors.Join(err, serr)
	})
	if err != nil {
		return err
	}
	if name == explain.RungDisk {
		c.ground.File.Cached = res.Alone.Cached
		what.File, what.Dir = res.Alone.File, "" // the later rungs read the same file
	}
	c.reached(name, rateOf(res), readMethod(c.Sender.Name, res))
	return nil
}

// readMethod describes what was read, where and how.
func readMethod(host string, r load.Result) string {
	s := fmt.Sprintf("%s on %s: %s of %s in %v, %s", r.Alone.File, host, unit.Bytes(r.Bytes), unit.Bytes(r.Alone.Size), r.Window.Round(100*time.Microsecond), r.Alone.Method)
	if c := r.Alone.Cached; c != nil {
		s += fmt.Sprintf("; %.0f%% of it was in memory before", *c*100)
	}
	return s
}

// writeMethod describes what was written, where and how.
func writeMethod(host string, r load.Result) string {
	return fmt.Sprintf("%s on %s: %s in %v, %s", r.Alone.File, host, unit.Bytes(r.Bytes), r.Window.Round(100*time.Microsecond), r.Alone.Method)
}

// mountRead reads the file over the client's mount, watched from both ends.
func (c *Climb) mountRead(ctx context.Context, name, file string) (explain.Case, error) {
	none := explain.Case{}
	if c.Export.Mount.Point == "" {
		return none, fmt.Errorf("mount %s:%s on %s, then run this again", c.Sender.Name, c.Export.Name, c.Receiver.Name)
	}
	before, err := c.watchFirst(ctx, map[string]measure.Watch{c.Receiver.Name: c.Export.requests()})
	if err != nil {
		return none, err
	}
	for _, s := range before[c.Receiver.Name] {
		if s.NFS != nil {
			c.ground.File.Slots = s.NFS.MaxSlots
		}
		if q := s.Requests; q != nil {
			c.ground.File.Depth, c.ground.File.Credits = q.Depth, q.Credits
		}
	}
	what := load.ReadSpec{Cache: load.Dropped, Dir: c.Export.Dir}
	switch {
	case c.Export.Disk != "":
		what.File, what.Dir, what.Device = c.Export.Dir, "", true
	case file != "":
		what.File, what.Dir = path.Join(c.Export.Dir, file), ""
	}
	run, res, err := c.readMount(ctx, name, what)
	if err != nil {
		return none, err
	}
	c.reached(name, run.Goodput, readMethod(c.Receiver.Name, res))
	what.File, what.Dir = res.Alone.File, ""
	c.read = what
	return c.caseSeen(run, true), nil
}

// readMount runs one read of the client over its mount, with both ends watched.
func (c *Climb) readMount(ctx context.Context, name string, what load.ReadSpec) (model.Run, load.Result, error) {
	spec := load.Spec{Role: load.Read, Duration: c.Rungs.Read, Read: &what}
	return c.overMount(ctx, name, spec, func(up worker.Event) {
		if what.Readers <= 1 {
			c.ground.File.ReadAhead, c.ground.File.Block = unit.Bytes(up.Alone.ReadAhead), unit.Bytes(up.Alone.Block)
			c.expect(name) // with the mount's read-ahead
		}
		c.say("load: %s reads %s over its mount %sfor at most %v: %s", c.Receiver.Name, up.Alone.File, inPlaces(what.Readers), spec.Duration, up.Alone.Method)
	})
}

// overMount runs a load of the client over its mount, with both ends watched. ready is
// called with what the load is about to do.
func (c *Climb) overMount(ctx context.Context, name string, spec load.Spec, ready func(up worker.Event)) (model.Run, load.Result, error) {
	run, res, err := c.sampledLoad(ctx, name, spec, func(up worker.Event) map[string]measure.Watch {
		ready(up)
		return c.mountWatch(up.PID)
	})
	run.Bytes = unit.Bytes(res.Bytes)
	if run.Samples != nil {
		c.rec.Results.Runs = append(c.rec.Results.Runs, run)
	}
	return run, res, err
}

// sampledLoad runs a load of the client under guard, and samples the hosts meanwhile. It calls
// watch, which says what to sample, once the load has said what it is about to do.
func (c *Climb) sampledLoad(ctx context.Context, label string, spec load.Spec, watch func(up worker.Event) map[string]measure.Watch) (model.Run, load.Result, error) {
	run := model.Run{Label: label}
	var res load.Result
	err := c.guarded(ctx, func(ctx context.Context, each func(string, model.Sample)) error {
		var stop func() (map[string][]model.Sample, error)
		var err error
		res, err = c.local(ctx, c.Receiver, spec, func(up worker.Event) error {
			what := watch(up)
			run.Started = c.Now()
			stop, err = c.sample(ctx, what, each)
			return err
		})
		if stop != nil {
			var serr error
			run.Samples, serr = stop()
			err = errors.Join(err, serr)
		}
		return err
	})
	run.Window, run.Goodput = res.Window, rateOf(res)
	return run, res, err
}

func inPlaces(readers int) string {
	if readers <= 1 {
		return ""
	}
	return fmt.Sprintf("in %d places at once ", readers)
}

// mountWatch says what to sample at both ends while process pid reads the mount; 0
// stands for any process. The connections of the mount do not tell its readers apart,
// so other readers are searched for before the rung.
func (c *Climb) mountWatch(pid int) map[string]measure.Watch {
	client := c.Export.clientWatch(c.Sender.Addr)
	if client.FindOwners = true; pid > 0 {
		client.PIDs, client.FindOwners = []int{pid}, false
	}
	return map[string]measure.Watch{c.Receiver.Name: client, c.Sender.Name: c.Export.serverWatch(c.Receiver.Addr)}
}
