// Command check times `linerate check` on this machine, as root and as an
// ordinary user, and holds it against the lab: how many findings hosts have while
// nothing is wrong, of every topology and with kernels and devices of their own,
// and whether each fault that inspection can see is found while it is there.
//
//	go run ./bench/check -n 20                  # as root, about five minutes
//	go run ./bench/check -part time,healthy     # -help lists the parts
//
// It only starts the program and reads what it prints.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
)

func main() {
	n := flag.Int("n", 20, "times that this machine is looked at")
	parts := flag.String("part", strings.Join(partNames(), ","), "parts to do")
	flag.Parse()
	kit.Main("check", func(ctx context.Context) error {
		const parent = "/var/tmp" // hosts of labs have a /tmp of their own
		return kit.WithUser(ctx, parent, "", func(u kit.User) error {
			return bench{u}.run(ctx, *n, strings.Split(*parts, ","), os.Stdout)
		})
	})
}

// bench asks the program as a user in a home of its own.
type bench struct{ kit.User }

func (b bench) run(ctx context.Context, n int, parts []string, w io.Writer) error {
	for _, p := range parts {
		if !slices.Contains(partNames(), p) {
			return fmt.Errorf("no part %q; choose of %s", p, strings.Join(partNames(), ", "))
		}
	}
	if err := os.Chmod(b.Home, 0o755); err != nil { // another user runs the program there
		return err
	}
	fault := []string{"fault", "on", "found by", "while it is there", "findings above info before, after"}
	for _, p := range []struct {
		name string
		head []string
		do   func(ctx context.Context, w io.Writer) error
	}{
		{"time", []string{"looked at as", "times", "median", "longest", "not seen"}, func(ctx context.Context, w io.Writer) error { return b.times(ctx, w, n) }},
		{"healthy", []string{"nothing wrong with", "hosts", "most findings above info on one", "which"}, b.healthy},
		{"namespaces", fault, b.namespaces},
		{"pairs", fault, b.pairs},
		{"kernels", fault, b.kernels},
		{"devices", fault, b.devices},
	} {
		if !slices.Contains(parts, p.name) {
			continue
		}
		kit.Head(w, p.head...)
		if err := p.do(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintln(w)
	}
	return nil
}

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

// times checks this machine n times, as root and as an ordinary user.
func (b bench) times(ctx context.Context, w io.Writer, n int) error {
	for _, uid := range []uint32{0, 65534} {
		var took []time.Duration
		var a answer
		for range n {
			cmd := b.Command(ctx, "check", "--watch", "0", "--json")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
			cmd.Dir = "/"
			started := time.Now()
			if err := a.ask(cmd); err != nil {
				return err
			}
			took = append(took, time.Since(started))
		}
		var blind []string
		for _, c := range a.Hosts[0].CouldNotSee {
			blind = append(blind, c.What)
		}
		ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
		fmt.Fprintf(w, "| uid %d | %d | %v | %v | %s |\n", uid, n, ms(kit.MedianOrZero(took)), ms(slices.Max(took)), kit.List(blind))
	}
	return nil
}

// ask is an error where any host could not be checked.
func (a *answer) ask(cmd *exec.Cmd) error {
	*a = answer{}
	if err := kit.Decode(cmd, a); err != nil {
		return err
	}
	for _, h := range a.Hosts {
		if h.Error != "" {
			return fmt.Errorf("%s: %s", h.Name, h.Error)
		}
	}
	if len(a.Hosts) == 0 {
		return errors.New("no hosts")
	}
	return nil
}
