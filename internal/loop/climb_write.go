package loop

import (
	"context"
	"fmt"
	"path"

	"linerate/internal/explain"
	"linerate/internal/load"
	"linerate/internal/load/worker"
)

// mountWrite writes a new file over the client's mount and judges what limited that, seen from
// both ends. The climb keeps the verdict on reading.
func (c *Climb) mountWrite(ctx context.Context) error {
	point := c.Export.Mount.Point
	if point == "" || c.Export.Disk != "" {
		return fmt.Errorf("write below %s: %s has not mounted a directory of %s", c.Write, c.Receiver.Name, c.Sender.Name)
	}
	// It has to be on this mount, not on another one below its mount point.
	if _, ok := below(path.Clean(c.Write), point); !ok || lies(c.rec.Facts[c.Receiver.Name], c.Write).Point != point {
		return fmt.Errorf("write below %s: it does not lie on %s, where %s has mounted %s; nothing was written", c.Write, point, c.Receiver.Name, c.Sender.Name)
	}
	if err := c.quiet(ctx); err != nil {
		return err
	}
	spec := load.Spec{Role: load.Write, Duration: c.Rungs.Read, Write: &load.WriteSpec{Dir: c.Write}}
	run, res, err := c.overMount(ctx, explain.RungWrite, spec, func(up worker.Event) {
		c.say("load: %s writes %s over its mount for at most %v and removes it: %s", c.Receiver.Name, up.Alone.File, spec.Duration, up.Alone.Method)
	})
	if err != nil {
		return err
	}
	c.reached(explain.RungWrite, run.Goodput, writeMethod(c.Receiver.Name, res))
	kase := c.caseSeen(run, true)
	kase.Sender, kase.Receiver = kase.Receiver, kase.Sender // in the direction of a write
	v := judge(kase).verdict
	c.note("writing: %s (%.2f)", v.Line, v.Confidence)
	return nil
}
