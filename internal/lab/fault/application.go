package fault

import (
	"linerate/internal/model"
	"linerate/internal/unit"
)

// applicationFaults are the faults of the programs at the ends. They change the workload, not
// the lab.
func applicationFaults() []Fault {
	return []Fault{
		{ID: "rcv-window-socket", Doc: "the receiving application fixes its buffer (SO_RCVBUF)", Limiter: model.ReceiverWindow,
			Severities: three(200<<10, 100<<10, 32<<10, bytesText), Counterfactual: "an application that leaves the buffer to the kernel",
			Confusable: limiters(model.ApplicationSink),
			workload:   func(w *model.Workload, v float64, _ *site) { w.RecvBuffer = unit.Bytes(v) }},
		{ID: "send-buffer-socket", Doc: "the sending application fixes its buffer (SO_SNDBUF)", Limiter: model.SendBuffer,
			Severities: three(200<<10, 100<<10, 32<<10, bytesText), Counterfactual: "an application that leaves the buffer to the kernel",
			Confusable: limiters(model.ApplicationSource),
			workload:   func(w *model.Workload, v float64, _ *site) { w.SendBuffer = unit.Bytes(v) }},
		{ID: "slow-source", Doc: "the sending application produces less than the link carries", Limiter: model.ApplicationSource,
			Severities: three(0.8, 0.5, 0.2, shareText), Counterfactual: "an application that produces faster",
			Confusable: limiters(model.SendBuffer, model.SenderCPU),
			workload:   func(w *model.Workload, v float64, s *site) { w.Rate = s.rate() * unit.BitRate(v) }},
		{ID: "slow-reader", Doc: "the receiving application reads less than the link carries", Limiter: model.ApplicationSink,
			Severities: three(0.8, 0.5, 0.2, shareText), Counterfactual: "an application that reads faster",
			Confusable: limiters(model.ReceiverWindow, model.ReceiverCPU),
			workload:   func(w *model.Workload, v float64, s *site) { w.ReadRate = s.rate() * unit.BitRate(v) }},
		{ID: "pacing", Doc: "the sending application caps its own rate (SO_MAX_PACING_RATE)", Limiter: model.Pacing,
			Severities: three(0.8, 0.5, 0.2, shareText), Counterfactual: "no, or a higher, pacing rate",
			Confusable: limiters(model.LinkRate),
			workload: func(w *model.Workload, v float64, s *site) {
				w.MaxPacing = s.rate() * unit.BitRate(v) / unit.BitRate(max(w.Streams, 1))
			}},
		{ID: "small-writes", Doc: "the sending application writes a few bytes at a time", Limiter: model.SenderCPU,
			Severities: three(1448, 256, 64, bytesText), Counterfactual: "writes of 64 KiB and more",
			Confusable: limiters(model.ApplicationSource),
			workload:   func(w *model.Workload, v float64, _ *site) { w.WriteSize = unit.Bytes(v) }},
		{ID: "delayed-ack-nagle", Doc: "the sending application writes each request in two pieces and waits for the answer: Nagle's algorithm holds the second until the delayed acknowledgment of the first", Limiter: model.ApplicationSource,
			Severities: three(64<<10, 8<<10, 1<<10, bytesText), Counterfactual: "an application that has several requests outstanding, or writes each request in one piece (or with TCP_NODELAY)",
			Confusable: limiters(model.SendBuffer, model.LinkRate),
			workload:   func(w *model.Workload, v float64, _ *site) { w.Exchange = unit.Bytes(v) }},
		{ID: "congestion-control", Doc: "the sender recovers slowly from rare losses (reno)", Limiter: model.CongestionControl,
			Severities: only("reno"), Counterfactual: "a congestion control that recovers faster, e.g. bbr",
			Confusable: limiters(model.PathLoss), Beside: "loss-random mild",
			workload: func(w *model.Workload, _ float64, _ *site) { w.CC = "reno" }},
	}
}

// ofApplications fills in the fields that all of these have in common.
func ofApplications(list []Fault) []Fault {
	for i := range list {
		list[i].AppliesTo, list[i].FixKind, list[i].Road = AtApplication, model.FixOperator, LongRoad
	}
	return list
}
