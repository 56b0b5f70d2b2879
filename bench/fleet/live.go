package main

import (
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
	"linerate/internal/host/delta"
	"linerate/internal/kernel"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// beat is between two samples of a simulated host, and freshBeats how many of them make a stream.
const (
	beat       = time.Second
	freshBeats = 10
)

// beats makes a sample of this machine's once a beat, packed once for all simulated hosts: what they
// cost is no part of the figures. Each host sends it at a moment of its own within the beat.
type beats struct {
	mu   sync.Mutex
	list map[chan beaten]bool
}

// beaten is one sample, as a batch of its own.
type beaten struct {
	at    time.Time
	n     int
	batch delta.Batch
}

// phase is how long after a beat a host sends its sample.
func phase(of string) time.Duration {
	h := 0
	for _, c := range of {
		h = (h*31 + int(c)) % 997
	}
	return time.Duration(h) * beat / 1000
}

// run reads and packs until ctx ends.
func (b *beats) run(ctx context.Context) error {
	reader, err := measure.NewSampler(kernel.Live{}, measure.Watch{}, time.Now)
	if err != nil {
		return err
	}
	pack := &delta.Writer{}
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s, err := reader.Read(ctx)
		if err != nil {
			return err
		}
		s.At, s.HostAt = time.Duration(n)*beat, time.Now()
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		made, err := pack.Pack([][]byte{text}, n%freshBeats == 0)
		if err != nil {
			return err
		}
		made.Data = slices.Clone(made.Data)
		b.mu.Lock()
		for c := range b.list {
			select {
			case c <- beaten{s.HostAt, n, made}:
			default: // that host does not come to send it: the gap shows
			}
		}
		b.mu.Unlock()
	}
}

func (b *beats) join() (c chan beaten, leave func()) {
	c = make(chan beaten, 16)
	b.mu.Lock()
	b.list[c] = true
	b.mu.Unlock()
	return c, func() {
		b.mu.Lock()
		delete(b.list, c)
		b.mu.Unlock()
	}
}

// send is a sampling of one simulated host, until ctx ends; it returns how many samples it sent.
func (b *beats) send(ctx context.Context, name string, write func(line []byte) error) int {
	in, leave := b.join()
	defer leave()
	first, sent := -1, 0
	for {
		var x beaten
		select {
		case <-ctx.Done():
			return sent
		case x = <-in:
		}
		if first < 0 && !x.batch.Fresh {
			continue
		}
		if first < 0 {
			first = x.n
		}
		select {
		case <-ctx.Done():
			return sent
		case <-time.After(time.Until(x.at.Add(phase(name)))):
		}
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "samples", "params": map[string]any{
			"id": 1, "n": x.n - first, "count": 1, "fresh": x.batch.Fresh, "bytes": x.batch.Bytes, "data": x.batch.Data}})
		if err != nil || write(line) != nil {
			return sent
		}
		sent = x.n - first + 1
	}
}

// live follows the samples of all hosts for a while, as a view does, and tells how long each took
// from when it was due to where a page is made of it, and how many did not come.
func (x *bench) live(ctx context.Context, lasts time.Duration) error {
	d := x.env.Reach(silent{})
	var mu sync.Mutex
	var took []float64 // seconds
	var came, gaps, here atomic.Int64
	clients := make([]*host.Client, x.n)
	stops := make([]func() ([]model.Sample, error), x.n)
	group, all := errgroup.WithContext(ctx)
	group.SetLimit(128)
	for i := range clients {
		group.Go(func() (err error) {
			name := fmt.Sprintf("n%04d", i)
			if clients[i], err = d.Dial(all, host.Name{Reach: host.Site, Host: name}); err != nil {
				return err
			}
			last := time.Duration(-1)
			stops[i], err = clients[i].PassSampling(ctx, measure.Watch{}, beat, func(s model.Sample) {
				late := time.Since(s.HostAt.Add(phase(name))).Seconds()
				if last >= 0 && s.At > last+beat {
					gaps.Add(int64((s.At-last)/beat) - 1)
				}
				if last < 0 {
					here.Add(1)
				}
				last = s.At
				came.Add(1)
				mu.Lock()
				took = append(took, late)
				mu.Unlock()
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for here.Load() < int64(x.n) && ctx.Err() == nil { // each begins when a stream does
		time.Sleep(100 * time.Millisecond)
	}
	begun := came.Load()
	mu.Lock()
	took = took[:0]
	mu.Unlock()
	err := x.measure(fmt.Sprintf("live samples of %d hosts, once a second, for %v", x.n, lasts), func() error { time.Sleep(lasts); return nil })
	mu.Lock()
	slices.Sort(took)
	at := func(q float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return took[min(len(took)-1, int(q*float64(len(took))))]
	}
	fmt.Printf("\n%d samples came in %v, %.0f a second; %d are known to be missing; from sample to view p50 %.3f s, p99 %.3f s, the longest %.3f s\n",
		len(took), lasts, float64(came.Load()-begun)/lasts.Seconds(), gaps.Load(), at(0.5), at(0.99), at(1))
	mu.Unlock()
	var lost atomic.Int64
	var end errgroup.Group
	end.SetLimit(128)
	for i := range clients {
		end.Go(func() error {
			if _, err := stops[i](); err != nil {
				lost.Add(1)
				fmt.Fprintln(os.Stderr, err)
			}
			return clients[i].Close()
		})
	}
	if cerr := end.Wait(); err == nil {
		err = cerr
	}
	fmt.Printf("of %d samplings %d ended with less than their host had sent, and said so\n\n", x.n, lost.Load())
	return err
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
	for i := range x.n {
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
	for scraped.Load() < int64(x.n) && ctx.Err() == nil {
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
		x.n, series, lasts, (after.cpu - before.cpu).Seconds(), after.rss/1e6, (after.bytes-before.bytes)/int64(x.n), 100*float64(scraped.Load()-had)/(float64(x.n)*lasts.Seconds()))
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
