package loop

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// The trickle that RoundTrip sends: enough segments for the kernel to time,
// too few to fill any queue.
const (
	trickleRate  = unit.Mbit
	trickleWrite = unit.KiB
	trickleTime  = time.Second
	trickleWarm  = 200 * time.Millisecond
)

// RoundTrip measures the minimum RTT of one TCP connection between two hosts that carries 1
// Mbit/s for a second. It also returns the last state of that connection at the sender, which
// shows a new connection under the settings in force.
func RoundTrip(ctx context.Context, from, to End, now func() time.Time) (time.Duration, model.Conn, error) {
	w := model.Workload{
		Sender: from.Name, Receiver: to.Name, From: from.Addr, To: to.Addr,
		Streams: 1, SourceUse: model.SourceUse{Rate: trickleRate, WriteSize: trickleWrite}, Duration: trickleTime, Warmup: trickleWarm,
	}
	run, err := measure.Run(ctx, w, measure.Ends{Sender: from.Agent, Receiver: to.Agent},
		measure.Options{Label: "round trip", Interval: 100 * time.Millisecond, Now: now})
	if err != nil {
		return 0, model.Conn{}, fmt.Errorf("time the round trip from %s to %s: %w", from.Name, to.Name, err)
	}
	rtt := minRTT(run.Samples[from.Name])
	if rtt == 0 {
		return 0, model.Conn{}, fmt.Errorf("time the round trip from %s to %s: the kernel of %s timed no segment", from.Name, to.Name, from.Name)
	}
	return rtt, lastConn(run.Samples[from.Name]), nil
}

// lastConn is the last sample of the connection that carried most.
func lastConn(samples []model.Sample) model.Conn {
	var last model.Conn
	for _, s := range samples {
		for _, c := range s.Conns {
			if c.BytesSent >= last.BytesSent {
				last = c
			}
		}
	}
	return last
}
