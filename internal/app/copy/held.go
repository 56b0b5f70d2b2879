package copy

import (
	"fmt"
	"math"
	"time"

	"linerate/internal/model"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
	"linerate/internal/unit"
)

// Limiter is what held a copy between hosts back: an id of docs/limiters.md, and the
// figures that say so. Undetermined is an answer too: neither end's disk, CPU nor its
// connections stood out.
type Limiter struct {
	ID       model.LimiterID `json:"id"`
	Text     string          `json:"text"`
	Evidence []string        `json:"evidence"`
}

// Shares from which a part is what held the copy: of the time of the streams that wait for
// it, and of what tcp_info calls busy.
const (
	mostOf    = 0.6
	windowOf  = 0.5
	lossNear  = 0.5 // of the rate that loss lets through
	nearLimit = 0.9
	fullCPU   = 0.9
	shortest  = 2 * time.Second // less says nothing: files open, streams start up
)

// limiterOf judges what both ends told: where the sender's streams spent their time (in
// sends, or waiting for blocks), how long what arrived waited for the receiver's writer, and
// what the kernel counted of the sender's connections.
func limiterOf(from, to mover.Work, limit int64) Limiter {
	streams, took := float64(max(1, from.Streams)), to.Took
	l := Limiter{ID: model.Undetermined, Evidence: []string{}}
	if took < shortest || from.Streams == 0 || to.Received == 0 {
		l.Text = "not known: it was over too soon to tell"
		return l
	}
	share := func(d time.Duration, of float64) float64 { return float64(d) / (float64(took) * of) }
	sending, held := share(from.Sending, streams), share(to.Held, streams)
	reading, durable := share(from.Reading, wire.Readers), min(1, share(to.Committing, 1))
	say := func(format string, args ...any) { l.Evidence = append(l.Evidence, fmt.Sprintf(format, args...)) }
	say("the sender's streams were in sends for %.0f%% of the time, what the receiver's brought waited for its writer for %.0f%%", 100*sending, 100*held)
	say("the sender's readers were busy for %.0f%% of the time, the receiver made files durable in %.0f%%", 100*reading, 100*durable)
	say("CPUs used: %.2f of the sender's %d, %.2f of the receiver's %d", share(from.CPU, 1), from.CPUs, share(to.CPU, 1), to.CPUs)
	rate := float64(to.Received) / took.Seconds()
	s := from.Sockets
	busy := func(d time.Duration) float64 { return float64(d) / float64(max(1, s.Busy)) }
	if s.Seen > 0 {
		say("its connections had data to send for %.0f%% of the time; of that the receiver's window held %.0f%%, the send buffer %.0f%%; %d of %d segments were sent again",
			100*share(s.Busy, float64(s.Seen)), 100*busy(s.RwndLimited), 100*busy(s.SndbufLimited), s.Retransmitted, s.Segments)
	}
	name := func(id model.LimiterID, format string, args ...any) Limiter {
		l.ID, l.Text = id, fmt.Sprintf(format, args...)
		return l
	}
	switch {
	case limit > 0 && rate > nearLimit*float64(limit):
		return name(model.ApplicationSource, "--limit %v/s", unit.Bytes(limit))
	case share(from.CPU, 1) > fullCPU*float64(from.CPUs):
		return name(model.SenderCPU, "the sender's CPUs, all of which were busy with this copy")
	case share(to.CPU, 1) > fullCPU*float64(to.CPUs):
		return name(model.ReceiverCPU, "the receiver's CPUs, all of which were busy with this copy")
	case sending < 1-mostOf && held < 1-mostOf && reading > mostOf:
		return name(model.ApplicationSource, "the source: its reading and hashing brought less than the streams could take")
	case held > mostOf:
		return name(model.ApplicationSink, "the target: its hashing and writing took less than the streams brought")
	case held+durable > mostOf && sending < 1-mostOf:
		return name(model.ApplicationSink, "the target: writing what had come and making it durable")
	case s.Seen == 0:
		l.Text = "not known: what the kernel counts of the connections could not be read"
		return l
	case busy(s.RwndLimited) > windowOf:
		return name(model.ReceiverWindow, "the receive window of the streams: see linerate explain between the hosts")
	case busy(s.SndbufLimited) > windowOf:
		return name(model.SendBuffer, "the send buffer of the streams: see linerate explain between the hosts")
	case rate > lossNear*lossBound(s, from.Sent):
		return name(model.PathLoss, "loss on the path: see linerate explain between the hosts")
	}
	l.Text = "not known: neither end's reading or writing, nor its connections' windows or losses stand out (the link's rate and the hosts' CPUs are not told apart here: see linerate explain)"
	return l
}

// lossBound is the rate, in bytes per second, that loss lets through at most: of each stream
// MSS/RTT · √(3/2)/√p (Mathis et al., "The Macroscopic Behavior of the TCP Congestion
// Avoidance Algorithm", 1997, with an acknowledgment for every packet), with the least RTT
// that was seen. It holds for congestion control that slows down with each loss; of others,
// and without loss, it is +Inf.
func lossBound(s wire.Sockets, sent int64) float64 {
	if s.Segments == 0 || s.Retransmitted == 0 || s.MinRTT == 0 || s.Congestion != "cubic" && s.Congestion != "reno" {
		return math.Inf(1)
	}
	p, size := float64(s.Retransmitted)/float64(s.Segments), float64(sent)/float64(s.Segments)
	return float64(s.Seen) * size / s.MinRTT.Seconds() * math.Sqrt(1.5/p)
}
