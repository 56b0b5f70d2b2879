//go:build linux

// Command explain runs `linerate explain --attach` beside a plain TCP copy in
// the lab, from the sending and from the receiving end alone, once per fault
// and round, and prints what each end said: right, undecided (it names no
// limiter, or names the right one only among the alternatives), or wrong. The
// copy is this very program, which knows nothing of linerate.
//
//	go run ./bench/explain -n 3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// copyRole in the environment makes this program one end of the copy:
// "sink ADDR" or "source ADDR BITS_PER_SECOND".
const copyRole = "LINERATE_BENCH_COPY"

func main() {
	if role := os.Getenv(copyRole); role != "" {
		// A copy ends by being cut off: its error is how, never whether.
		fmt.Fprintln(os.Stderr, runCopy(strings.Fields(role)))
		os.Exit(1)
	}
	n := flag.Int("n", 3, "rounds")
	faults := flag.String("faults", "", "comma-separated fault ids; empty is all")
	flag.Parse()
	kit.Main("explain", func(ctx context.Context) error {
		return kit.WithUser(ctx, "", "", func(u kit.User) error { return bench(ctx, u, *n, *faults, os.Stdout) })
	})
}

// score of one fault from one end.
type score struct{ right, undecided, wrong int }

func bench(ctx context.Context, u kit.User, rounds int, only string, w io.Writer) error {
	scores := map[string]*[2]score{}
	for range rounds {
		for _, f := range lab.Faults() {
			if only != "" && !strings.Contains(","+only+",", ","+f.ID+",") {
				continue
			}
			if scores[f.ID] == nil {
				scores[f.ID] = &[2]score{}
			}
			if err := round(ctx, u, f, scores[f.ID], w); err != nil {
				return fmt.Errorf("%s: %w", f.ID, err)
			}
		}
	}
	fmt.Fprintln(w)
	kit.Head(w, "fault", "limiter", "sender: right / undecided / wrong", "receiver: right / undecided / wrong")
	for _, f := range lab.Faults() {
		if s := scores[f.ID]; s != nil {
			fmt.Fprintf(w, "| %s | %s | %d / %d / %d | %d / %d / %d |\n", f.ID, f.Limiter,
				s[0].right, s[0].undecided, s[0].wrong, s[1].right, s[1].undecided, s[1].wrong)
		}
	}
	return nil
}

func round(ctx context.Context, u kit.User, f lab.Fault, s *[2]score, w io.Writer) (err error) {
	network, err := topology.Demo()
	if err != nil {
		return err
	}
	l, err := lab.Up(ctx, f.Topology(network), lab.Options{Self: []string{u.Binary}, StateDir: filepath.Join(u.Home, "state")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Down(context.WithoutCancel(ctx))) }()
	if err := l.Inject(ctx, f); err != nil {
		return err
	}
	addr := net.JoinHostPort(l.Addr("server1").String(), "5201")
	for _, end := range []struct{ host, role string }{
		{"server1", "sink " + addr}, {"client1", fmt.Sprintf("source %s %.0f", addr, float64(f.SourceRate))},
	} {
		stopCopy, err := startCopy(l.Enter(end.host), end.role)
		if err != nil {
			return err
		}
		defer stopCopy()
	}
	for i, end := range []struct{ host, peer string }{{"client1", "server1"}, {"server1", "client1"}} {
		v, err := explain(ctx, l, u, end.host, l.Addr(end.peer).String()+":5201")
		if err != nil {
			fmt.Fprintf(w, "%s from %s: %v\n", f.ID, end.host, err)
			s[i].undecided++
			continue
		}
		fmt.Fprintf(w, "%s from %s: %s (confidence %.2f) or %v\n", f.ID, end.host, v.Limiter, v.Confidence, alternatives(v))
		switch {
		case v.Limiter == f.Limiter:
			s[i].right++
		case v.Limiter == model.Undetermined || slices.Contains(alternatives(v), f.Limiter):
			s[i].undecided++
		default:
			s[i].wrong++
		}
	}
	return nil
}

func alternatives(v model.Verdict) []model.LimiterID {
	var out []model.LimiterID
	for _, a := range v.Alternatives {
		out = append(out, a.Limiter)
	}
	return out
}

// explain watches from inside host; the stated line rate is the topology's.
func explain(ctx context.Context, l *lab.Lab, u kit.User, host, peer string) (model.Verdict, error) {
	rate := strconv.FormatFloat(float64(l.Topology().Links[0].AB.Rate), 'f', 0, 64) + "bit"
	inside := u
	enter := l.Enter(host)
	inside.Binary = enter[0]
	args := append(slices.Clone(enter[1:]), u.Binary, "explain", "--attach", peer, "--line-rate", rate, "--for", "6s", "--json")
	var o model.Outcome
	err := inside.Ask(ctx, &o, args...)
	return o.Verdict, err
}

func startCopy(enter []string, role string) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argv := append(enter, "/usr/bin/env", copyRole+"="+role, self)
	cmd := exec.Command(argv[0], argv[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = stdin.Close() // ends the copy, whatever Close says
		_ = cmd.Wait()    // a copy that is cut off fails by design
	}, nil
}

// runCopy is one end of the copy; it ends with its peer or its stdin.
func runCopy(role []string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the signal
		os.Exit(0)
	}()
	if role[0] == "sink" {
		return sink(role[1])
	}
	rate, err := strconv.ParseFloat(role[2], 64)
	if err != nil {
		return err
	}
	return source(role[1], rate)
}

func sink(addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	c, err := ln.Accept()
	if err != nil {
		return err
	}
	b := make([]byte, 256<<10)
	for {
		if _, err := c.Read(b); err != nil {
			return err
		}
	}
}

// source writes as fast as it can or, given a rate, a block at a time.
func source(addr string, rate float64) error {
	d := net.Dialer{Control: useCubic}
	c, err := d.Dial("tcp", addr)
	for tries := 0; err != nil && tries < 100; tries++ { // the sink comes up meanwhile
		time.Sleep(20 * time.Millisecond)
		c, err = d.Dial("tcp", addr)
	}
	if err != nil {
		return err
	}
	b := make([]byte, 64<<10)
	for {
		if _, err := c.Write(b); err != nil {
			return err
		}
		if rate > 0 {
			time.Sleep(time.Duration(float64(len(b)) * 8 / rate * float64(time.Second)))
		}
	}
}

// useCubic sets the congestion control that the faults are sized for: a
// model-based one hides random loss.
func useCubic(_, _ string, c syscall.RawConn) error {
	var err error
	if cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	}); cerr != nil {
		return cerr
	}
	return err
}
