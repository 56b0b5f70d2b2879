package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

const (
	serverAddr = "10.77.0.1"
	clientAddr = "10.77.0.2"
	nas        = "/mnt/nas"
	megabit    = 1e6
)

// pair is an NFS server and its client, each a kernel of its own.
type pair struct {
	server, client *machine
	work           string
}

func (p pair) halt() {
	p.client.halt()
	p.server.halt()
}

func bootPair(ctx context.Context, work string) (p pair, err error) {
	if err := joinTaps("tap0", "tap1"); err != nil {
		return p, err
	}
	p.work = work
	began := time.Now()
	if p.server, err = boot(ctx, work, "server", "tap0", 512); err != nil {
		return p, err
	}
	if p.client, err = boot(ctx, work, "client", "tap1", 512); err != nil {
		p.server.halt()
		return p, err
	}
	fmt.Printf("two kernels up after %.1f s\n", time.Since(began).Seconds())
	if err := p.setUp(ctx); err != nil {
		p.halt()
		return p, err
	}
	return p, nil
}

func (p pair) setUp(ctx context.Context) error {
	mountIt := mountArgs{Server: serverAddr, Client: clientAddr, Point: nas}
	for _, s := range []struct {
		on   *machine
		op   string
		args any
	}{
		{p.server, "modules", []string{"nfsd", "sch_netem"}},
		{p.server, "address", addressArgs{"vec0", serverAddr + "/24"}},
		{p.client, "modules", []string{"nfsv4"}},
		{p.client, "address", addressArgs{"vec0", clientAddr + "/24"}},
		{p.server, "serve-nfs", serveArgs{Client: clientAddr, SizeMB: 128, Threads: 8}},
		{p.client, "mount-nfs", mountIt},
	} {
		if err := p.do(ctx, s.on, s.op, s.args, nil); err != nil {
			return err
		}
	}
	return nil
}

// do is a call that may take half a minute.
func (p pair) do(ctx context.Context, m *machine, op string, args, value any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return m.call(ctx, op, args, value)
}

func runNFS(ctx context.Context, o options, work string) error {
	p, err := bootPair(ctx, work)
	if err != nil {
		return err
	}
	defer p.halt()
	conditions, err := chosen(o.only)
	if err != nil {
		return err
	}
	header(os.Stdout)
	var table []row
	for _, c := range conditions {
		rows, err := p.condition(ctx, o, c)
		if err != nil {
			return fmt.Errorf("condition %s: %w", c.name, err)
		}
		for _, r := range rows {
			r.print(os.Stdout)
		}
		table = append(table, rows...)
	}
	if o.record != "" {
		if err := p.recordTo(ctx, o.record); err != nil {
			return err
		}
	}
	return conclude(table)
}

// conclude fails when explain did.
func conclude(table []row) error {
	var wrong []error
	for _, r := range table {
		if r.problem != "" {
			wrong = append(wrong, fmt.Errorf("%s as uid %d: %s", r.name, r.uid, r.problem))
		}
	}
	return errors.Join(wrong...)
}

// condition puts one thing in place, copies, and has explain look on.
func (p pair) condition(ctx context.Context, o options, c condition) ([]row, error) {
	c.link.Dev = "vec0"
	if err := p.do(ctx, p.server, "shape", c.link, nil); err != nil {
		return nil, err
	}
	if err := p.do(ctx, p.server, "throttle-disk", c.disk, nil); err != nil {
		return nil, err
	}
	sysctls := map[string]string{"net/ipv4/tcp_rmem": c.rmem}
	if c.rmem == "" {
		sysctls["net/ipv4/tcp_rmem"] = "4096 131072 6291456"
	}
	if err := p.do(ctx, p.client, "sysctl", sysctls, nil); err != nil {
		return nil, err
	}
	if err := p.do(ctx, p.client, "remount-nfs", mountArgs{serverAddr, clientAddr, nas, c.readAheadKB}, nil); err != nil {
		return nil, err
	}
	var rows []row
	for _, u := range list(o.uids) {
		uid, err := strconv.Atoi(u)
		if err != nil {
			return nil, fmt.Errorf("user id %q: %w", u, err)
		}
		r, err := p.look(ctx, o, c, uid)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// look runs explain once while the copy runs.
func (p pair) look(ctx context.Context, o options, c condition, uid int) (row, error) {
	if c.copies {
		if err := p.do(ctx, p.client, "start-copy", copyArgs{Path: nas + "/big", Rate: c.appRate}, nil); err != nil {
			return row{}, err
		}
		pause(ctx, 2*time.Second)
	}
	r := row{condition: c, uid: uid}
	if o.binary == "none" {
		pause(ctx, o.window)
	} else if err := p.explain(ctx, &r); err != nil {
		return r, err
	}
	var moved copyResult
	if err := p.do(ctx, p.client, "stop-copy", nil, &moved); err != nil {
		return r, err
	}
	if moved.Took > 0 {
		r.copied = float64(moved.Bytes) * 8 / moved.Took.Seconds()
	}
	r.check()
	return r, nil
}

// explain runs the command under test and judges what it printed.
func (p pair) explain(ctx context.Context, r *row) error {
	name := fmt.Sprintf("%s-%d", r.name, r.uid)
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	argv := []string{guestBin + "/linerate", "explain", r.path, "--json"}
	var res runResult
	if err := p.client.call(ctx, "run", runArgs{Name: name, Argv: argv, UID: r.uid, Timeout: 75 * time.Second}, &res); err != nil {
		return err
	}
	stdout, err := os.ReadFile(filepath.Join(p.work, name+".out"))
	if err != nil {
		return err
	}
	stderr, err := os.ReadFile(filepath.Join(p.work, name+".err"))
	if err != nil {
		return err
	}
	r.judge(res, stdout, stderr)
	return nil
}

// recordTo saves the client's pseudo files during a copy.
func (p pair) recordTo(ctx context.Context, dir string) error {
	if err := p.do(ctx, p.client, "start-copy", copyArgs{Path: nas + "/big"}, nil); err != nil {
		return err
	}
	pause(ctx, 3*time.Second)
	if err := p.do(ctx, p.client, "record", recordArgs{Server: serverAddr, Mount: nas, Wait: time.Second}, nil); err != nil {
		return err
	}
	if err := p.do(ctx, p.client, "stop-copy", nil, &copyResult{}); err != nil {
		return err
	}
	for _, f := range []string{"host.txtar", "later.txtar"} {
		if err := copyFile(filepath.Join(p.work, f), filepath.Join(dir, f)); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Printed output is kept whole with -keep; the table shows the gist.
func header(w io.Writer) {
	fmt.Fprintf(w, "%-12s %5s %9s  %-5s %5s  %s\n", "condition", "uid", "copy", "", "s", "what explain said")
}

// chosen are the conditions by name; none is all.
func chosen(only string) ([]condition, error) {
	all := conditions()
	names := list(only)
	if len(names) == 0 {
		return all, nil
	}
	var out []condition
	for _, n := range names {
		i := slices.IndexFunc(all, func(c condition) bool { return c.name == n })
		if i < 0 {
			return nil, fmt.Errorf("no condition %q", n)
		}
		out = append(out, all[i])
	}
	return out, nil
}
