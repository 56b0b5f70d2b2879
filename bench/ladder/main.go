// Command ladder runs `linerate explain` against real storage servers in the
// lab and prints what it said of each, with a login on the server and without:
//
//	go run ./bench/ladder               every server, about four minutes
//	go run ./bench/ladder ganesha tgt   those
//
// The client is a host with a kernel of its own, whose NFS, SMB and iSCSI
// clients are the kernel's. With a login the ladder is climbed under load; then
// a reader runs and both ends are watched; without one the client alone is asked,
// once while that reader runs and once with leave to read by itself. Nothing is
// wrong with the lab but that its servers serve from memory: what is of interest
// is whether every rung is measured and what the verdict rests on. It takes root,
// and needs the programs that docs/lab.md names; a server that cannot be started
// is reported and fails the run.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/model"
)

func main() {
	flag.Parse()
	kit.Main("ladder", func(ctx context.Context) error {
		return kit.WithUser(ctx, "", "", func(u kit.User) error { return run(ctx, u, flag.Args(), os.Stdout) })
	})
}

// target is a server, and how a client gets at it.
type target struct {
	name    string
	kind    string // as --serve takes it
	kernels string // hosts with a kernel of their own
}

func targets() []target {
	const both = "client1,server1"
	return []target{
		{"kernel-nfs", "nfs", both},
		{"ganesha", "nfs", "client1"},
		{"samba", "smb", "client1"},
		{"tgt", "iscsi", "client1"},
		{"lio", "iscsi", both},
	}
}

func run(ctx context.Context, u kit.User, names []string, w io.Writer) error {
	for _, n := range names {
		if !slices.ContainsFunc(targets(), func(t target) bool { return t.name == n }) {
			return fmt.Errorf("no server %q: there are kernel-nfs, ganesha, samba, tgt, lio", n)
		}
	}
	var errs []error
	for _, t := range targets() {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		fmt.Fprintf(w, "\n## %s\n", t.name)
		args := []string{"back-to-back", "--kernel", t.kernels, "--serve", "server1=" + t.kind}
		if err := u.Lab(ctx, args, func(l lab.Status) error { return t.run(ctx, u, l, w) }); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
			fmt.Fprintf(w, "\n%v\n", err)
		}
	}
	return errors.Join(errs...)
}

const (
	mountPoint = "/mnt/nas"
	fileMB     = 512
)

func (t target) run(ctx context.Context, u kit.User, l lab.Status, w io.Writer) error {
	s := kit.Attach(l.Servers[0], "10.10.0.2", mountPoint, fileMB)
	if err := u.Inside(ctx, "server1", s.Fill...); err != nil {
		return err
	}
	for _, argv := range s.Attach {
		if err := u.Inside(ctx, "client1", argv...); err != nil {
			return err
		}
	}
	for _, v := range t.views(u, l.Servers[0].Share, s.File) {
		if err := v.show(ctx, u, w, s.File); err != nil {
			fmt.Fprintf(w, "\n### %s\n\n%v\n", v.title, err)
		}
	}
	return nil
}

// view is one way to ask.
type view struct {
	title  string
	reader bool // a reader runs meanwhile
	args   []string
}

func (t target) views(u kit.User, share, file string) []view {
	const rate = "1Gbit"
	asked := mountPoint
	if t.kind == "iscsi" {
		asked = file
	}
	client := func(more ...string) []string {
		return append([]string{"lab", "exec", "client1", "--", "env", "HOME=/tmp", u.Binary, "explain", "--json", "--line-rate", rate, asked}, more...)
	}
	pair := []string{"explain", "--json", "--load", "lab:client1", "lab:server1:" + share}
	return []view{
		{"with a login, under load", false, pair},
		{"with a login, a reader runs", true, pair},
		{"client alone, a reader runs", true, client("--for", "6s")},
		{"client alone, under load", false, client("--load", "--for", "6s")},
	}
}

func (v view) show(ctx context.Context, u kit.User, w io.Writer, file string) error {
	if v.reader {
		stop, err := reader(ctx, u, file)
		if err != nil {
			return err
		}
		defer stop()
	}
	began := time.Now()
	var o model.Outcome
	if err := u.Ask(ctx, &o, v.args...); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n### %s (%.0f s)\n\n%s\n", v.title, time.Since(began).Seconds(), o.Verdict.Line)
	for _, e := range o.Verdict.Evidence {
		fmt.Fprintf(w, "- %s: %s (n = %d)\n", e.Host, e.What, e.N)
	}
	if p := o.Verdict.Probe; p != nil {
		fmt.Fprintf(w, "- not told apart: %v; %s\n", p.Between, p.Do)
	}
	fmt.Fprintln(w)
	kit.Head(w, "rung", "ceiling", "predicted", "measured", "how")
	for _, r := range o.Ladder {
		fmt.Fprintf(w, "| %s | %v | %v | %v | %s |\n", r.Rung, show(r.Ceiling), show(r.Predicted), show(r.Measured), cmp.Or(r.Method, r.How))
	}
	return nil
}

func show[T fmt.Stringer](v *T) string {
	if v == nil {
		return kit.None
	}
	return (*v).String()
}

// reader reads the file on the client over and over.
func reader(ctx context.Context, u kit.User, file string) (stop func(), err error) {
	script := `while :; do dd if="$0" of=/dev/null bs=1M count=512 status=none; done`
	if !strings.HasPrefix(file, "/dev/") {
		script = `while :; do dd if="$0" of=/dev/null bs=1M status=none; dd if="$0" iflag=nocache count=0 status=none; done`
	}
	cmd := u.Command(ctx, "lab", "exec", "client1", "--", "sh", "-c", script, file)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the reader: %w", err)
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // how it ends does not matter
		_ = cmd.Wait()
	}, nil
}
