package main

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"linerate/internal/facts"
	"linerate/internal/kernel"
	"linerate/internal/kernel/kerneltest"
	"linerate/internal/measure"
)

type recordArgs struct {
	Server string        `json:"server"`
	Mount  string        `json:"mount"`
	Wait   time.Duration `json:"wait"` // between the two samples
}

// record keeps what facts and the sampler read of the client: host.txtar with
// both, and later.txtar with what the counters were after a while.
func (g *guest) record(a recordArgs) error {
	server, err := netip.ParseAddr(a.Server)
	if err != nil {
		return err
	}
	watch := measure.Watch{Addrs: []netip.Addr{server}, Ports: []uint16{2049}, Mount: a.Mount}
	first := kerneltest.NewRecorder(kernel.Live{})
	if _, err := facts.Read(context.Background(), first, "client", time.Now()); err != nil {
		return err
	}
	if err := g.sample(first, watch, "host.txtar"); err != nil {
		return err
	}
	time.Sleep(a.Wait)
	return g.sample(kerneltest.NewRecorder(kernel.Live{}), watch, "later.txtar")
}

func (g *guest) sample(rec *kerneltest.Recorder, watch measure.Watch, name string) error {
	s, err := measure.NewSampler(rec, watch, time.Now)
	if err != nil {
		return err
	}
	if _, err := s.Read(context.Background()); err != nil {
		return err
	}
	b, err := rec.Archive()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.work, name), b, 0o644)
}
