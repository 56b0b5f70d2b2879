package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/host"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// follower follows the samples of all hosts.
type follower struct {
	beat    time.Duration
	clients []*host.Client
	stops   []func() ([]model.Sample, error)

	came, gaps, here, silent atomic.Int64
	mu                       sync.Mutex
	took                     []float64 // seconds from when a sample was due to where it is here
}

// follow begins with one host. One that gives no answer in time is counted, and left out.
func (f *follower) follow(ctx, dialling context.Context, d reach.Dialler, i int) (err error) {
	if err = f.begin(ctx, dialling, d, i); err != nil && dialling.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		f.silent.Add(1)
		if f.clients[i] != nil {
			_ = f.clients[i].Close() // it answers nothing
		}
		f.clients[i] = nil
		return nil
	}
	return err
}

// begin has a host send its samples.
func (f *follower) begin(ctx, dialling context.Context, d reach.Dialler, i int) (err error) {
	if f.clients[i], err = d.Dial(dialling, host.Name{Reach: host.Site, Host: hostName(i)}); err != nil {
		f.clients[i] = nil
		return err
	}
	last := time.Duration(-1)
	f.stops[i], err = f.clients[i].PassSampling(ctx, measure.Watch{}, f.beat, func(s model.Sample) {
		due := s.HostAt.Add(phase(f.beat, i) - ahead(i, int(s.At/f.beat)))
		late := time.Since(due).Seconds()
		if last < 0 {
			f.here.Add(1)
		} else {
			f.gaps.Add(int64((s.At-last)/f.beat) - 1)
		}
		last = s.At
		f.came.Add(1)
		f.mu.Lock()
		f.took = append(f.took, late)
		f.mu.Unlock()
	})
	return err
}

// end stops all samplings, and tells how many had an end that could not be seen.
func (f *follower) end() (lost int64, err error) {
	var n atomic.Int64
	var group errgroup.Group
	group.SetLimit(128)
	for i := range f.clients {
		if f.clients[i] == nil {
			continue
		}
		group.Go(func() error {
			if _, err := f.stops[i](); err != nil {
				n.Add(1)
				fmt.Fprintln(os.Stderr, err)
			}
			return f.clients[i].Close()
		})
	}
	err = group.Wait()
	return n.Load(), err
}

// live follows the samples of all hosts for a while, as a view does, and tells how long each took
// from when it was due to where a page is made of it, and how many did not come.
func (x *bench) live(ctx context.Context, lasts time.Duration) error {
	f := &follower{beat: x.Beat, clients: make([]*host.Client, x.N), stops: make([]func() ([]model.Sample, error), x.N)}
	d := x.env.Reach(silent{})
	group, all := errgroup.WithContext(ctx)
	group.SetLimit(128)
	for i := range f.clients {
		group.Go(func() error { return f.follow(ctx, all, d, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	answered := int64(x.N) - f.silent.Load()
	for f.here.Load() < answered && ctx.Err() == nil { // each begins when a stream does
		time.Sleep(100 * time.Millisecond)
	}
	begun := f.came.Load()
	f.mu.Lock()
	f.took = f.took[:0]
	f.mu.Unlock()
	err := x.measure(fmt.Sprintf("live samples of %d hosts, one of each in %v, for %v", x.N, x.Beat, lasts), func() error { time.Sleep(lasts); return nil })
	f.mu.Lock()
	slices.Sort(f.took)
	at := func(q float64) float64 {
		if len(f.took) == 0 {
			return 0
		}
		return f.took[min(len(f.took)-1, int(q*float64(len(f.took))))]
	}
	fmt.Printf("\n%d samples came in %v, %.0f a second; from sample to view p50 %.3f s, p99 %.3f s, the longest %.3f s\n",
		len(f.took), lasts, float64(f.came.Load()-begun)/lasts.Seconds(), at(0.5), at(0.99), at(1))
	f.mu.Unlock()
	lost, cerr := f.end()
	x.came, x.gaps = f.came.Load(), f.gaps.Load()
	fmt.Printf("%d of %d hosts gave no answer in time and were left out; of the others' samplings %d ended with less than their host had sent, and said so\n\n", f.silent.Load(), x.N, lost)
	return cmp.Or(err, cerr)
}

// unsaid tells, once the agents have ended, whether samples were lost that nothing shows. Agents
// count all that they sent: what serve was sent and judged at once cannot be told from what is lost.
func (x *bench) unsaid(t total) {
	if x.came == 0 || x.serve > 0 {
		return
	}
	missing := t.Sent + t.Dropped - x.came - x.gaps
	fmt.Printf("hosts sent %d samples and dropped %d; %d came, and %d are known to be missing: of %d nothing is said\n", t.Sent, t.Dropped, x.came, x.gaps, missing)
}

// beside measures Prometheus as it scrapes as many hosts once a second: what each answers is what
// node_exporter said of this machine once, from a server that is no part of the figures.
func (x *bench) beside(ctx context.Context, lasts time.Duration) error {
	text, series, err := exported(ctx)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	defer ln.Close()
	var scraped atomic.Int64
	go func() {
		_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = w.Write(text)
			scraped.Add(1)
		})) // it ends with the listener
	}()
	dir, err := os.MkdirTemp("", "prom")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	port := ln.Addr().(*net.TCPAddr).Port
	var targets []string
	for i := range x.N {
		targets = append(targets, fmt.Sprintf("127.%d.%d.%d:%d", 1+i/62500, i/250%250, 1+i%250, port))
	}
	list, err := json.Marshal([]map[string]any{{"targets": targets}})
	if err != nil {
		return err
	}
	conf := "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: hosts\n  file_sd_configs: [{files: [" + filepath.Join(dir, "targets.json") + "]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "targets.json"), list, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(conf), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", "127.0.0.1:0", "--log.level", "error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }() // it has been measured
	for scraped.Load() < int64(x.N) && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
	}
	before, err := costOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	had := scraped.Load()
	time.Sleep(lasts)
	after, err := costOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("Prometheus, %d targets of %d series of node_exporter, once a second, for %v: %.2f s of CPU, %d MB, %d bytes a host, %.1f%% of the scrapes\n",
		x.N, series, lasts, (after.cpu - before.cpu).Seconds(), after.rss/1e6, (after.bytes-before.bytes)/int64(x.N), 100*float64(scraped.Load()-had)/(float64(x.N)*lasts.Seconds()))
	return nil
}

// exported is what node_exporter says of this machine, with the collectors of what a sample has, and
// of how many series that is.
func exported(ctx context.Context) (text []byte, series int, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	at := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, "prometheus-node-exporter", "--web.listen-address", at, "--web.disable-exporter-metrics", "--collector.disable-defaults",
		"--collector.netstat", "--collector.netdev", "--collector.stat", "--collector.softnet", "--collector.sockstat", "--collector.cpu", "--collector.meminfo")
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }() // it has answered
	for ctx.Err() == nil {
		rsp, err := http.Get("http://" + at + "/metrics")
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		text, err = io.ReadAll(rsp.Body)
		if err = errors.Join(err, rsp.Body.Close()); err != nil {
			return nil, 0, err
		}
		break
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			series++
		}
	}
	return text, series, ctx.Err()
}
