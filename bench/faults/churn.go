package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"time"
)

// churn has processes and connections begin and end on a host, and on this one, all the time.
func churn(ctx context.Context, s *station, x *strike) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	cmds := []*exec.Cmd{s.Command(ctx, onHost("wan-16ms/client1", self, "-churn")...), exec.CommandContext(ctx, self, "-churn")}
	x.undo = func() error {
		stop()
		for _, c := range cmds {
			_ = c.Wait() // ended, by design
		}
		return nil
	}
	for _, c := range cmds {
		if err := c.Start(); err != nil {
			return err
		}
		s.pids[c.Process.Pid] = true
	}
	x.hit = true
	return nil
}

// churnMain makes processes and connections that end at once.
func churnMain(ctx context.Context) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	for ctx.Err() == nil {
		if err := exec.CommandContext(ctx, "true").Run(); err != nil && ctx.Err() == nil {
			return err
		}
		for range 3 {
			near, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				return err
			}
			far, err := ln.Accept()
			if err == nil {
				err = errors.Join(far.Close(), near.Close())
			}
			if err != nil {
				return err
			}
		}
		if wait(ctx, 2*time.Millisecond) != nil {
			break
		}
	}
	return nil
}
