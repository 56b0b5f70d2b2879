package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"time"

	"linerate/internal/lab"
)

// labFaults are those that take a lab: of the path, and of a host's clock.
func (b *bench) labFaults(ctx context.Context, wanted *regexp.Regexp) (kinds []fault, tallies []tally, err error) {
	onLink := func(what string) func(context.Context, *tally) error {
		return func(ctx context.Context, t *tally) error { return b.onLink(ctx, t, what) }
	}
	up := func(more ...string) func(context.Context, func(lab.Status) error) error {
		return func(ctx context.Context, work func(lab.Status) error) error {
			return b.inLab(ctx, gigabit, "200us", 1500, more, work)
		}
	}
	for _, group := range []struct {
		up    func(context.Context, func(lab.Status) error) error
		kinds []fault
	}{
		{up("--seed", "1"), []fault{{"in a lab: link cut in the middle, for good or for 3 s", 0, onLink("loss=100%")}, {"in a lab: path MTU shrunk in the middle", 0, onLink("mtu=1000")}}},
		{up("--kernel", "client1"), []fault{{"in a lab: clock of the source's host set a day forth or back, before or in the middle", 0, b.clock}}},
		{b.inQuotaLab, []fault{{"in a lab: quota of an ext4 reached", 0, b.labQuota}}},
		{b.inKillLab("smb"), []fault{{mountKill("smb"), 0, b.killedOnMount("smb")}}},
		{b.inKillLab("nfs"), []fault{{mountKill("nfs"), 0, b.killedOnMount("nfs")}}},
	} {
		if !slices.ContainsFunc(group.kinds, func(k fault) bool { return wanted.MatchString(k.name) }) {
			continue
		}
		err := group.up(ctx, func(s lab.Status) error {
			b.link, b.injected = s.Links[0].ID, 0
			for _, k := range group.kinds {
				if !wanted.MatchString(k.name) {
					continue
				}
				kinds, tallies = append(kinds, k), append(tallies, tally{})
				for range b.labs {
					if err := k.run(ctx, &tallies[len(tallies)-1]); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return kinds, tallies, err
		}
	}
	if wanted.MatchString(powerName) {
		kinds, tallies = append(kinds, fault{name: powerName}), append(tallies, tally{})
		err = b.powerLost(ctx, &tallies[len(tallies)-1])
	}
	return kinds, tallies, err
}

// labCopy copies from one host of the lab to the other, in some seconds.
func (b *bench) labCopy(ctx context.Context) *exec.Cmd {
	return b.Command(ctx, "copy", "--limit", "10MB", "lab:client1:"+b.src+"/", "lab:server1:"+b.dst)
}

// onLink spoils the link in the middle of a copy.
func (b *bench) onLink(ctx context.Context, t *tally, what string) error {
	if err := b.tree(); err != nil {
		return err
	}
	cmd := b.labCopy(ctx)
	if err := cmd.Start(); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	time.Sleep(time.Duration(500+b.rand.IntN(1500)) * time.Millisecond) // a moment of the copy
	select {
	case err := <-over:
		t.cases-- // it came too late
		return err
	default:
	}
	if _, err := b.Run(ctx, "lab", "fault", "add", "link:"+b.link, what); err != nil {
		return err
	}
	b.injected++                // which is its number
	time.Sleep(3 * time.Second) // so long nothing comes through
	again := b.rand.IntN(2) == 0
	if !again { // nobody waits for a path that is gone
		_ = cmd.Process.Kill() // it may have ended
	}
	if _, err := b.Run(ctx, "lab", "fault", "remove", fmt.Sprint(b.injected)); err != nil {
		return err
	}
	select {
	case err := <-over:
		if err != nil {
			t.cut++
		}
	case <-time.After(time.Minute): // it waits for what was lost
		t.cut++
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
		<-over
	}
	if err := b.alone(ctx); err != nil {
		return err
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	return b.last(ctx, t)
}

// clock sets the clock of the host that reads, which only a kernel of its own has.
func (b *bench) clock(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	// Its kernel sees this machine's files as it has cached them, also when they are made anew.
	if err := b.Inside(ctx, "client1", "sh", "-c", "echo 3 >/proc/sys/vm/drop_caches"); err != nil {
		return err
	}
	set := func(by time.Duration) error {
		return b.Inside(ctx, "client1", "date", "-s", fmt.Sprintf("@%d", time.Now().Add(by).Unix()))
	}
	by := time.Duration(b.rand.IntN(2)*2-1) * 24 * time.Hour
	before := b.rand.IntN(2) == 0
	if before {
		if err := set(by); err != nil {
			return err
		}
	}
	cmd := b.labCopy(ctx)
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(time.Duration(200+b.rand.IntN(1500)) * time.Millisecond) // a moment of the copy
	var err error
	if !before {
		err = set(by)
	}
	if werr := cmd.Wait(); werr != nil {
		t.cut++
	}
	if err := errors.Join(err, set(0), b.alone(ctx)); err != nil {
		return err
	}
	wrong, err := b.wrong(false)
	if err != nil {
		return err
	}
	t.wrong += wrong
	return b.last(ctx, t)
}
