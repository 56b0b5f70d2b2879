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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
	"linerate/internal/cli"
	"linerate/internal/model"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if args := os.Args[1:]; len(args) > 0 && !named(args[0]) { // the lab's own processes, the agents, the workers
		os.Exit(cli.Run(ctx, args, os.Stdin, os.Stdout, os.Stderr))
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench/ladder:", err)
		os.Exit(1)
	}
}

// named tells whether an argument is a server's name; with any other this program
// is linerate.
func named(arg string) bool {
	return slices.ContainsFunc(targets(), func(t target) bool { return t.name == arg })
}

// target is a server, and how a client gets at it.
type target struct {
	name    string
	kind    string // as --serve takes it
	kernels string // hosts with a kernel of their own
	disk    bool   // the client gets a block device
}

func targets() []target {
	const both = "client1,server1"
	return []target{
		{"kernel-nfs", "nfs", both, false},
		{"ganesha", "nfs", "client1", false},
		{"samba", "smb", "client1", false},
		{"tgt", "iscsi", "client1", true},
		{"lio", "iscsi", both, true},
	}
}

func run(ctx context.Context, names []string, w io.Writer) error {
	all := targets()
	for _, n := range names {
		if !named(n) {
			return fmt.Errorf("no server %q: there are kernel-nfs, ganesha, samba, tgt, lio", n)
		}
	}
	var errs []error
	for _, t := range all {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		fmt.Fprintf(w, "\n## %s\n", t.name)
		if err := t.run(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.name, err))
			fmt.Fprintf(w, "\n%v\n", err)
		}
	}
	return errors.Join(errs...)
}

// user runs linerate in a home of its own.
type user struct{ kit.User }

func (u user) inside(ctx context.Context, host string, argv ...string) ([]byte, error) {
	return u.Run(ctx, append([]string{"lab", "exec", host, "--"}, argv...)...)
}

const (
	mountPoint = "/mnt/nas"
	fileMB     = 512
)

func (t target) run(ctx context.Context, w io.Writer) (err error) {
	home, err := os.MkdirTemp("", "linerate-ladder-")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	u := user{kit.User{Binary: self, Home: home}}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_, down := u.Run(ctx, "lab", "down", "--all")
		err = errors.Join(err, down, os.RemoveAll(home))
	}()
	if _, err := u.Run(ctx, "lab", "up", "back-to-back", "--kernel", t.kernels, "--serve", "server1="+t.kind); err != nil {
		return err
	}
	share, file, err := t.mount(ctx, u)
	if err != nil {
		return err
	}
	for _, v := range t.views(share, file) {
		if err := v.show(ctx, u, w, file); err != nil {
			fmt.Fprintf(w, "\n### %s\n\n%v\n", v.title, err)
		}
	}
	return nil
}

// mount fills the share, and mounts it or logs in to the disk. file is what the
// client then reads.
func (t target) mount(ctx context.Context, u user) (share, file string, err error) {
	out, err := u.Run(ctx, "lab", "status", "--json")
	if err != nil {
		return "", "", err
	}
	var status []struct {
		Servers []struct {
			Share string   `json:"share"`
			Mount []string `json:"mount"`
		} `json:"servers"`
	}
	if err := json.Unmarshal(out, &status); err != nil || len(status) != 1 || len(status[0].Servers) != 1 {
		return "", "", fmt.Errorf("read the lab's status: want one lab with one server: %w", err)
	}
	srv := status[0].Servers[0]
	fill, file := path.Join(srv.Share, "film"), path.Join(mountPoint, "film")
	steps := [][]string{{"mkdir", "-p", mountPoint}, srv.Mount}
	if t.disk {
		fill, file = srv.Share, "/dev/sda"
		steps = [][]string{{"modprobe", "-a", "iscsi_tcp", "sd_mod"},
			{"iscsistart", "-i", "iqn.2026-01.lab.linerate:client1", "-t", "iqn.2026-01.lab.linerate:share", "-g", "1", "-a", "10.10.0.2", "-p", "3260"},
			{"sh", "-c", `for i in $(seq 100); do [ -e /dev/sda ] && exit; sleep 0.1; done; exit 1`}}
	}
	if _, err := u.inside(ctx, "server1", "dd", "if=/dev/zero", "of="+fill, "bs=1M", fmt.Sprint("count=", fileMB), "conv=notrunc,fsync", "status=none"); err != nil {
		return "", "", err
	}
	for _, argv := range steps {
		for i := range argv {
			if argv[i] == "DIR" {
				argv[i] = mountPoint
			}
		}
		if _, err := u.inside(ctx, "client1", argv...); err != nil {
			return "", "", err
		}
	}
	return srv.Share, file, nil
}

// view is one way to ask.
type view struct {
	title  string
	reader bool // a reader runs meanwhile
	args   []string
}

func (t target) views(share, file string) []view {
	const rate = "1Gbit"
	self := mountPoint
	if t.disk {
		self = file
	}
	alone := func(more ...string) []string {
		return append([]string{"lab", "exec", "client1", "--", "env", "HOME=/tmp", "SELF", "explain", "--json", "--line-rate", rate, self}, more...)
	}
	pair := []string{"explain", "--json", "--load", "lab:client1", "lab:server1:" + share}
	return []view{
		{"with a login, under load", false, pair},
		{"with a login, a reader runs", true, pair},
		{"client alone, a reader runs", true, alone("--for", "6s")},
		{"client alone, under load", false, alone("--load", "--for", "6s")},
	}
}

func (v view) show(ctx context.Context, u user, w io.Writer, file string) error {
	args := slices.Clone(v.args)
	for i := range args {
		if args[i] == "SELF" {
			args[i] = u.Binary
		}
	}
	if v.reader {
		stop, err := u.reader(ctx, file)
		if err != nil {
			return err
		}
		defer stop()
	}
	began := time.Now()
	out, err := u.Run(ctx, args...)
	if err != nil {
		return err
	}
	var o model.Outcome
	if err := json.Unmarshal(out, &o); err != nil {
		return fmt.Errorf("read the outcome: %w", err)
	}
	fmt.Fprintf(w, "\n### %s (%.0f s)\n\n%s\n", v.title, time.Since(began).Seconds(), o.Verdict.Line)
	for _, e := range o.Verdict.Evidence {
		fmt.Fprintf(w, "- %s: %s (n = %d)\n", e.Host, e.What, e.N)
	}
	if p := o.Verdict.Probe; p != nil {
		fmt.Fprintf(w, "- not told apart: %v; %s\n", p.Between, p.Do)
	}
	fmt.Fprintf(w, "\n| rung | ceiling | predicted | measured | how |\n|---|---|---|---|---|\n")
	for _, r := range o.Ladder {
		how := r.Method
		if how == "" {
			how = r.How
		}
		fmt.Fprintf(w, "| %s | %v | %v | %v | %s |\n", r.Rung, show(r.Ceiling), show(r.Predicted), show(r.Measured), how)
	}
	return nil
}

func show[T fmt.Stringer](v *T) string {
	if v == nil {
		return "–"
	}
	return (*v).String()
}

// reader reads the file on the client over and over.
func (u user) reader(ctx context.Context, file string) (stop func(), err error) {
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
