package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// judging is the CPU time for one verdict on one path, seen from both ends: made-up samples of a
// transfer whose receive window is full, ten a second, played as a live view would judge them.
func judging() (each time.Duration, err error) {
	const long = 120 * time.Second
	a, b := netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.0.2:5000")
	run := model.Run{Label: "bench", Started: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), Samples: map[string][]model.Sample{
		"a": transfer(long, a, b, true), "b": transfer(long, b, a, false)}}
	facts := map[string]*model.Facts{"a": {Host: "a", OS: "linux"}, "b": {Host: "b", OS: "linux"}}
	n := 0
	l := loop.Live{LineRate: model.Known(unit.Gbit), Window: loop.LiveWindow, Step: loop.LiveStep, Hold: loop.LiveHold, Show: func(all []watch.Picture) error {
		n += len(all)
		return nil
	}}
	before, err := used()
	if err != nil {
		return 0, err
	}
	if err := l.Replay(context.Background(), loop.Played{Run: run, Facts: facts, Wait: func(context.Context, time.Duration) error { return nil }}); err != nil {
		return 0, err
	}
	after, err := used()
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("judge a path: no picture came of %v of samples", long)
	}
	return (after - before) / time.Duration(n), nil
}

// transfer is what one end of a connection counts in so long.
func transfer(long time.Duration, local, remote netip.AddrPort, sends bool) (out []model.Sample) {
	begin := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for at := time.Duration(0); at <= long; at += 100 * time.Millisecond {
		moved := int64(at.Seconds() * 40e6)
		c := model.Conn{Local: local, Remote: remote, Inode: 7, State: 1, CC: "cubic", SndMSS: 1448, AdvMSS: 1448, Unacked: 180, Cwnd: 400, RTT: 10 * time.Millisecond, MinRTT: 10 * time.Millisecond, SndWnd: 262144}
		if sends {
			c.BytesAcked, c.BytesSent, c.SegsOut, c.DataSegsOut, c.Busy, c.RwndLimited = moved, moved, moved/1448, moved/1448, at, at*9/10
		} else {
			c.BytesReceived, c.SegsIn, c.DataSegsIn = moved, moved/1448, moved/1448
		}
		s := model.Sample{At: at, HostAt: begin.Add(at), Conns: []model.Conn{c}, NICs: []model.NICCount{{Name: "eth0", RxBytes: moved, TxBytes: moved}}}
		for i := range 16 {
			s.CPUs = append(s.CPUs, model.CPUTime{CPU: i, User: at / 10, System: at / 10, Idle: at * 8 / 10})
		}
		out = append(out, s)
	}
	return out
}
