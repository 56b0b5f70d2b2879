package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"linerate/internal/app/serve"
	"linerate/internal/app/watch"
	"linerate/internal/unit"
)

// Times of faults and of a page.
const (
	breakAfter = 2 * time.Minute // a connection breaks, on average; of more than 1,000 hosts as many as of 1,000
	warmUp     = 30 * time.Second
)

// breaks are options by which the connection of a host's agent breaks now and then.
func (s simulated) breaks() []nats.Option {
	if s.beats.seed == 0 {
		return nil
	}
	return []nats.Option{nats.SetCustomDialer(&fragile{mean: breakAfter * time.Duration(max(1, s.beats.hosts/1000)), rng: rand.New(rand.NewPCG(s.beats.seed, uint64(s.i)<<1|1))})}
}

// fragile makes connections that end by themselves.
type fragile struct {
	mean time.Duration // how long one lasts
	mu   sync.Mutex
	rng  *rand.Rand
}

// Dial implements nats.CustomDialer.
func (f *fragile) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	after := time.Duration(f.rng.ExpFloat64() * float64(f.mean))
	f.mu.Unlock()
	time.AfterFunc(after, func() { _ = c.Close() }) // it may be closed
	return c, nil
}

// beginServing starts linerate serve with all hosts, and waits for what it does first.
func (x *bench) beginServing(ctx context.Context) error {
	hosts, err := watch.SiteHosts(ctx, x.env, "", "all", silent{})
	if err != nil {
		return err
	}
	here, ended := make(chan struct{}), make(chan error, 1)
	o := serve.Options{Watch: watch.Options{Hosts: hosts, Window: 10 * time.Second}, Listen: "127.0.0.1:0", Title: "bench", Set: "bench", Keep: 64 * unit.MiB, Serving: func(string) { close(here) }}
	ctx, x.served = context.WithCancel(ctx)
	go func() { ended <- serve.Serve(ctx, x.env, o, silent{}) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-here:
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(warmUp):
		return nil
	}
}

// serving has it go on for a while.
func (x *bench) serving(context.Context) error {
	defer x.served()
	time.Sleep(x.serve)
	return nil
}
