package experiment

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/load/worker"
)

type fakeWorker struct {
	a    *fakeAgent
	spec load.Spec
}

func (k *fakeWorker) PID() int { return 1 }

func (k *fakeWorker) Addr() netip.AddrPort { return netip.AddrPortFrom(k.a.h.addr, 5201) }

func (k *fakeWorker) did(what string) {
	k.a.w.mu.Lock()
	defer k.a.w.mu.Unlock()
	k.a.w.log = append(k.a.w.log, what)
}

func (k *fakeWorker) Connected(context.Context) (worker.Event, error) {
	k.did("connected")
	if k.spec.CC != "" && k.spec.CC == k.a.w.lacks {
		return worker.Event{}, fmt.Errorf("worker: %w", load.Refuse("set congestion control: no such file or directory"))
	}
	return worker.Event{Up: load.Up{CC: "reno"}}, k.a.step()
}

func (k *fakeWorker) Go(context.Context) error { k.did("go"); return k.a.step() }

func (k *fakeWorker) Stop(context.Context) error { k.did("stop"); return nil }

func (k *fakeWorker) Wait(context.Context) (load.Result, error) {
	if err := k.a.step(); err != nil {
		return load.Result{}, err
	}
	k.a.w.mu.Lock()
	defer k.a.w.mu.Unlock()
	n := int64(k.a.w.goodput() / 8)
	if b := k.spec.Block; b != nil {
		cached := 0.01
		if k.a.h.name == "server" {
			cached = 0.97
		}
		q := &block.Quantiles{N: 100, P50: 1e6, P99: int64(b.Depth) * 1e6, Max: 9e6}
		return load.Result{Bytes: 100 * int64(b.Sizes[0].Size), Window: time.Second, Block: &load.BlockResult{
			Summary: block.Summary{IOPS: 100 * float64(b.Depth), Latency: q, FromCache: &cached}, Seconds: []block.Second{{Reads: 100}}}}, nil
	}
	if f := k.spec.Frames; f != nil {
		r := &load.FramesResult{Frames: 9, Dropped: 1, Latency: &block.Quantiles{N: 9, P50: 1e6, P99: 2e6, Max: 3e6}, Mean: 1e9, PerFrame: []float64{1e9, 2e9}, Each: 1, Evidence: []string{"asked"}}
		if k.a.h.name == "server" {
			r.IntoCache, r.Flush = true, 1500*time.Millisecond
			r.Dropped, r.PerFrame = 0, []float64{3e9, 1.5e9}
		}
		return load.Result{Bytes: 9e6, Window: time.Second, Frames: r}, nil
	}
	return load.Result{Bytes: n, BytesAfterWarmup: n, Window: time.Second}, nil
}
