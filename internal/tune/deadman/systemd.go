package deadman

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"linerate/internal/kernel"
)

// adminPath is where systemd's programs are.
const adminPath = "/usr/bin:/bin:/usr/sbin:/sbin"

// systemd tells whether a unit of systemd would run on this host: systemd is its first process
// (sd_booted(3): /run/systemd/system exists) and shares this process's network and mounts, unlike
// for a host that is a namespace. Only root can see the latter, and only root may start units.
func (s Starter) systemd() bool {
	if _, err := s.Root.ReadDir("/run/systemd/system"); err != nil {
		return false
	}
	for _, ns := range []string{"net", "mnt"} {
		own, err1 := s.Root.Readlink("/proc/self/ns/" + ns)
		first, err2 := s.Root.Readlink("/proc/1/ns/" + ns)
		if err1 != nil || err2 != nil || own != first {
			return false
		}
	}
	return true
}

// unit names the timer of a plan; the name is valid for any plan id.
func unit(plan string) string {
	sum := sha256.Sum256([]byte(plan))
	return "linerate-watch-" + hex.EncodeToString(sum[:6])
}

// armUnit makes systemd start the watcher when the time is over; until then there is no process
// that could be killed.
func (s Starter) armUnit(ctx context.Context, argv []string, plan string, within time.Duration) error {
	check := append(append([]string{}, argv...), checkArg, s.StateDir, plan)
	cmd := kernel.Exec(ctx, check...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + adminPath}
	out, err := cmd.Output()
	if said := strings.TrimSpace(string(out)); err != nil || said != checked {
		return fmt.Errorf("see whether %s can watch: it said %q (%v)", argv[0], said, err)
	}
	// A unit of an earlier attempt may have the same name.
	if err := s.disarmUnit(ctx, plan); err != nil {
		return err
	}
	run := []string{
		"--quiet", "--collect", "--unit=" + unit(plan), "--on-active=" + strconv.FormatInt(within.Microseconds(), 10) + "us",
		"--timer-property=AccuracySec=100ms", "--property=OOMScoreAdjust=-1000",
		// A watcher that is killed while it undoes is started again, however often.
		"--property=Restart=on-abnormal", "--property=RestartSec=1s", "--property=StartLimitIntervalSec=0",
		"--description=linerate: undo a change that nobody confirmed", "--",
	}
	for _, arg := range append(append([]string{}, argv...), s.StateDir, plan) {
		run = append(run, strings.ReplaceAll(arg, "$", "$$")) // systemd.service(5), COMMAND LINES
	}
	if err := s.run(ctx, "systemd-run", run...); err != nil {
		return err
	}
	return s.run(ctx, "systemctl", "is-active", "--quiet", unit(plan)+".timer")
}

func (s Starter) disarmUnit(ctx context.Context, plan string) error {
	timer := unit(plan) + ".timer"
	if s.run(ctx, "systemctl", "is-active", "--quiet", timer) != nil {
		return nil // there is none, or it has fired
	}
	return s.run(ctx, "systemctl", "stop", timer)
}

func (s Starter) run(ctx context.Context, name string, args ...string) error {
	path := s.Path
	if path == "" {
		path = adminPath
	}
	program, err := kernel.FindProgram(name, path)
	if err != nil {
		return err
	}
	cmd := kernel.Exec(ctx, append([]string{program}, args...)...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + adminPath}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
