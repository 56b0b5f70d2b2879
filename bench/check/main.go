// Command check times `linerate check` on this machine, as root and as an
// ordinary user, and holds it against the lab: how many findings hosts have while
// nothing is wrong, of every topology and with kernels and devices of their own,
// and whether each fault that inspection can see is found while it is there.
//
//	go run ./bench/check -n 20                  # as root, about five minutes
//	go run ./bench/check -part time,healthy     # parts: time, healthy, namespaces, pairs, kernels, devices
//
// It only starts the program and reads what it prints.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
)

func main() {
	n := flag.Int("n", 20, "times that this machine is looked at")
	parts := flag.String("part", strings.Join(partNames(), ","), "what to do")
	flag.Parse()
	kit.Main("check", func(ctx context.Context) error { return run(ctx, *n, strings.Split(*parts, ","), os.Stdout) })
}

type bench struct{ binary, dir string }

func run(ctx context.Context, n int, parts []string, w io.Writer) error {
	for _, p := range parts {
		if !slices.Contains(partNames(), p) {
			return fmt.Errorf("no part %q; choose of %s", p, strings.Join(partNames(), ", "))
		}
	}
	dir, err := os.MkdirTemp("/var/tmp", "linerate-bench-") // hosts of labs have a /tmp of their own
	if err != nil {
		return fmt.Errorf("make a place for the binary: %w", err)
	}
	defer os.RemoveAll(dir)
	b := bench{dir: dir}
	if b.binary, err = kit.Build(ctx, dir); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, p := range []struct {
		name, head string
		do         func(ctx context.Context, w io.Writer) error
	}{
		{"time", "| looked at as | times | median | longest | not seen |\n|---|---|---|---|---|\n", func(ctx context.Context, w io.Writer) error { return b.times(ctx, w, n) }},
		{"healthy", "| nothing wrong with | hosts | most findings above info on one | which |\n|---|---|---|---|\n", b.healthy},
		{"namespaces", faultHead, b.namespaces},
		{"pairs", faultHead, b.pairs},
		{"kernels", faultHead, b.kernels},
		{"devices", faultHead, b.devices},
	} {
		if !slices.Contains(parts, p.name) {
			continue
		}
		fmt.Fprintf(w, "%s", p.head)
		if err := p.do(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintln(w)
	}
	return nil
}

const faultHead = "| fault | on | found by | while it is there | findings above info before, after |\n|---|---|---|---|---|\n"

func partNames() []string {
	return []string{"time", "healthy", "namespaces", "pairs", "kernels", "devices"}
}

type finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
}

type answer struct {
	Hosts []struct {
		Name        string    `json:"name"`
		Error       string    `json:"error"`
		Findings    []finding `json:"findings"`
		CouldNotSee []struct {
			What string `json:"what"`
		} `json:"could_not_see"`
	} `json:"hosts"`
	Pairs []struct {
		Findings []finding `json:"findings"`
	} `json:"pairs"`
}

func (b bench) times(ctx context.Context, w io.Writer, n int) error {
	for _, uid := range []uint32{0, 65534} {
		if err := b.time(ctx, w, n, uid); err != nil {
			return err
		}
	}
	return nil
}

// time looks at this machine n times.
func (b bench) time(ctx context.Context, w io.Writer, n int, uid uint32) error {
	var took []time.Duration
	var a answer
	for range n {
		cmd := b.command(ctx, "check", "--watch", "0", "--json")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		started := time.Now()
		if err := b.answer(cmd, &a); err != nil {
			return err
		}
		took = append(took, time.Since(started))
	}
	slices.Sort(took)
	var blind []string
	for _, c := range a.Hosts[0].CouldNotSee {
		blind = append(blind, c.What)
	}
	fmt.Fprintf(w, "| uid %d | %d | %v | %v | %s |\n", uid, n, took[n/2].Round(time.Millisecond), took[n-1].Round(time.Millisecond), strings.Join(append(blind, "–")[:max(1, len(blind))], ", "))
	return nil
}

func (b bench) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.binary, args...)
	run := filepath.Join(b.dir, "run")
	_ = os.MkdirAll(run, 0o700) // the program says so where it is missing
	cmd.Env, cmd.Dir = append(os.Environ(), "XDG_RUNTIME_DIR="+run, "HOME="+b.dir), "/"
	return cmd
}

func (b bench) answer(cmd *exec.Cmd, into *answer) error {
	out, err := output(cmd)
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err == nil && len(into.Hosts) == 0 {
		err = errors.New("no hosts")
	}
	for _, h := range into.Hosts {
		if err == nil && h.Error != "" {
			err = fmt.Errorf("%s: %s", h.Name, h.Error)
		}
	}
	return err
}

func (b bench) run(ctx context.Context, args ...string) ([]byte, error) {
	return output(b.command(ctx, args...))
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args[1:], " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
