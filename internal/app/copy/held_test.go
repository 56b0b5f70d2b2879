package copy

import (
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
)

func lossy(w *mover.Work, cc string) {
	w.Sockets.Retransmitted, w.Sockets.MinRTT, w.Sockets.Congestion = 7000, 16*time.Millisecond, cc
}

// What held a copy is named only where a figure stands out; else it is not known.
func TestTheLimiterOfACopyIsNamedOnlyWhereItStandsOut(t *testing.T) {
	const took = 10 * time.Second
	base := func() (from, to mover.Work) {
		from = mover.Work{Look: wire.Look{Streams: 4, Sent: 1e9, Sending: 38 * time.Second}, CPUs: 8, CPU: 5 * time.Second, Took: took,
			Sockets: wire.Sockets{Seen: 4, Busy: 39 * time.Second, Segments: 700000}}
		to = mover.Work{Look: wire.Look{Streams: 4, Received: 1e9}, CPUs: 8, CPU: 5 * time.Second, Took: took}
		return from, to
	}
	for name, c := range map[string]struct {
		change func(from, to *mover.Work)
		limit  int64
		want   model.LimiterID
	}{
		"nothing stands out": {func(*mover.Work, *mover.Work) {}, 0, model.Undetermined},
		"too short":          {func(_, to *mover.Work) { to.Took = time.Second }, 0, model.Undetermined},
		"limit":              {func(*mover.Work, *mover.Work) {}, 1e8, model.ApplicationSource},
		"source":             {func(from, _ *mover.Work) { from.Sending, from.Reading = 4*time.Second, 36*time.Second }, 0, model.ApplicationSource},
		"idle":               {func(from, _ *mover.Work) { from.Sending = 4 * time.Second }, 0, model.Undetermined},
		"durable": {func(from, to *mover.Work) {
			from.Sending, to.Committing = 4*time.Second, 8*time.Second
		}, 0, model.ApplicationSink},
		"target": {func(_, to *mover.Work) { to.Held = 30 * time.Second }, 0, model.ApplicationSink},
		"target behind the window": {func(from, to *mover.Work) {
			to.Held, from.Sockets.RwndLimited = 30*time.Second, 38*time.Second
		}, 0, model.ApplicationSink},
		"window":      {func(from, _ *mover.Work) { from.Sockets.RwndLimited = 30 * time.Second }, 0, model.ReceiverWindow},
		"send buffer": {func(from, _ *mover.Work) { from.Sockets.SndbufLimited = 30 * time.Second }, 0, model.SendBuffer},
		// 1%, 16 ms: 4 · 1430 B / 16 ms · √150 is 4.4 MB/s.
		"loss": {func(from, to *mover.Work) {
			lossy(from, "cubic")
			to.Received, from.Sent = 40e6, 40e6
			from.Sockets.Segments, from.Sockets.Retransmitted = 28000, 280
		}, 0, model.PathLoss},
		"loss that holds nothing": {func(from, _ *mover.Work) {
			lossy(from, "cubic")
			from.Sockets.MinRTT = 3 * time.Microsecond
		}, 0, model.Undetermined},
		"loss under bbr": {func(from, _ *mover.Work) { lossy(from, "bbr") }, 0, model.Undetermined},
		"sender's CPU":   {func(from, _ *mover.Work) { from.CPU = 78 * time.Second }, 0, model.SenderCPU},
		"receiver CPU":   {func(_, to *mover.Work) { to.CPU = 78 * time.Second }, 0, model.ReceiverCPU},
		"kernel unseen":  {func(from, _ *mover.Work) { from.Sockets = wire.Sockets{} }, 0, model.Undetermined},
	} {
		from, to := base()
		c.change(&from, &to)
		if got := limiterOf(from, to, c.limit); got.ID != c.want || got.Text == "" {
			t.Errorf("%s: %s (%s), want %s", name, got.ID, got.Text, c.want)
		}
	}
}
