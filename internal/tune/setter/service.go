package setter

import (
	"context"
	"fmt"
	"strings"
)

// IRQBalanceSetting is the only id of this mechanism.
const IRQBalanceSetting = "linux.service.irqbalance"

const (
	running        = "running"
	stopped        = "stopped"
	irqbalanceUnit = "irqbalance.service"
	daemon         = "irqbalance"
)

// Service starts and stops irqbalance, which would move interrupts that were placed: by systemd,
// or as a process on hosts without systemd. It does not change whether the service starts with
// the host, and touches no other service. Without systemd it refuses to stop a process that was
// started with arguments, since it could not be started again the same.
type Service struct {
	Tree Tree
	Run  Runner
}

func (Service) Owns(setting string) bool { return setting == IRQBalanceSetting }

func (Service) Canonical(at Place, value string) (string, error) {
	if at.Setting != IRQBalanceSetting || at.Target != "" {
		return "", fmt.Errorf("service %s: want %s, and no device: %w", at, IRQBalanceSetting, ErrValue)
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if len(words) != 1 || words[0] != running && words[0] != stopped {
		return "", fmt.Errorf("value %q of %s: want %s or %s: %w", value, at, running, stopped, ErrValue)
	}
	return words[0], nil
}

func (s Service) systemd() bool { _, err := s.Tree.ReadDir("/run/systemd/system"); return err == nil }

func (s Service) Read(ctx context.Context, at Place, _ string) (string, error) {
	if _, err := s.Canonical(at, running); err != nil {
		return "", err
	}
	if !s.systemd() {
		pid, _, err := s.process()
		if err != nil {
			return "", fmt.Errorf("read %s: %w", at, err)
		}
		if pid == "" {
			return stopped, nil
		}
		return running, nil
	}
	out, err := s.Run(ctx, "systemctl", "show", "--property=LoadState", "--property=ActiveState", irqbalanceUnit)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	state := map[string]string{}
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		state[k] = v
	}
	switch {
	case state["LoadState"] == "not-found":
		return "", fmt.Errorf("read %s: it is not installed: %w", at, ErrUnsupported)
	case state["ActiveState"] == "active", state["ActiveState"] == "reloading":
		return running, nil
	case state["ActiveState"] == "inactive", state["ActiveState"] == "failed":
		return stopped, nil
	}
	return "", fmt.Errorf("read %s: systemd says %q: try again when it has settled", at, strings.TrimSpace(string(out)))
}

// process finds the daemon among the processes, and its command line; pid is empty if there is
// none.
func (s Service) process() (pid string, argv []string, err error) {
	pids, err := numbered(s.Tree, "/proc", "")
	if err != nil {
		return "", nil, err
	}
	for _, p := range pids {
		comm, err := s.Tree.ReadFile("/proc/" + p + "/comm")
		if err != nil || strings.TrimSpace(string(comm)) != daemon {
			continue // most likely it ended meanwhile
		}
		line, err := s.Tree.ReadFile("/proc/" + p + "/cmdline")
		if argv := strings.FieldsFunc(string(line), func(r rune) bool { return r == 0 }); err == nil && len(argv) > 0 {
			return p, argv, nil
		}
	}
	return "", nil, nil
}

func (s Service) Write(ctx context.Context, at Place, value string) error {
	value, err := s.Canonical(at, value)
	if err != nil {
		return err
	}
	now, err := s.Read(ctx, at, value)
	if err != nil || now == value {
		return err
	}
	argv := []string{"systemctl", map[string]string{running: "start", stopped: "stop"}[value], irqbalanceUnit}
	if !s.systemd() {
		argv = []string{daemon}
	}
	if !s.systemd() && value == stopped {
		pid, started, err := s.process()
		if err != nil {
			return fmt.Errorf("write %q to %s: %w", value, at, err)
		}
		if len(started) != 1 {
			return fmt.Errorf("write %q to %s: process %s was started as %q and could not be started again the same: %w", value, at, pid, started, ErrSideEffect)
		}
		argv = []string{"kill", pid}
	}
	if _, err := s.Run(ctx, argv...); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	return nil
}

func (s Service) Shell(at Place, _ string) (Shell, error) {
	if _, err := s.Canonical(at, running); err != nil {
		return Shell{}, err
	}
	programs := []string{"pidof"}
	if s.systemd() {
		programs = []string{"systemctl"}
	}
	systemd := "[ -d " + Quote(s.Tree.Path("/run/systemd/system")) + " ]"
	return Shell{
		Read: "if " + systemd + "; then systemctl is-active --quiet " + irqbalanceUnit + "; else pidof " + daemon + " >/dev/null; fi && echo " + running + " || echo " + stopped,
		Write: "if " + systemd + `; then if [ "$value" = ` + running + " ]; then systemctl start " + irqbalanceUnit + "; else systemctl stop " + irqbalanceUnit + "; fi; " +
			`elif [ "$value" = ` + running + " ]; then " + daemon + "; else kill $(pidof " + daemon + "); fi",
		Programs: programs,
	}, nil
}
