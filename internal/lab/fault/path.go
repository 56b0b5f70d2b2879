package fault

import (
	"fmt"
	"time"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// pathFaults are the faults of links and switches. Their sizes are chosen for 1 Gbit/s and 10
// ms, where 1.25 MB are in flight.
func pathFaults() []Fault {
	return []Fault{
		{ID: "loss-random", Doc: "the link loses segments at random", AppliesTo: AtLink, Limiter: model.PathLoss,
			Severities: three(1e-4, 1e-3, 1e-2, percentText), Counterfactual: "a link without loss",
			Confusable: limiters(model.PathQueue), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Loss, h.LossBurst = v, 0 })},
		{ID: "loss-bursty", Doc: "the link loses segments in bursts of ten", AppliesTo: AtLink, Limiter: model.PathLoss,
			Severities: three(1e-4, 1e-3, 1e-2, percentText), Counterfactual: "a link without loss",
			Confusable: limiters(model.PathQueue), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Loss, h.LossBurst = v, 10 })},
		{ID: "loss-reverse", Doc: "the reverse path loses acknowledgments", AppliesTo: AtLink, Limiter: model.PathLoss,
			Severities: three(0.05, 0.2, 0.6, percentText), Counterfactual: "a reverse path without loss",
			Confusable: limiters(model.LinkRate), Road: LongRoad,
			effects: reverse(func(v float64, h *topology.Shape) { h.Loss = v })},
		{ID: "link-rate", Doc: "the link carries less than its nominal rate", AppliesTo: AtLink, Limiter: model.LinkRate,
			Severities: three(0.8, 0.5, 0.2, shareText), Counterfactual: "the nominal rate",
			Confusable: limiters(model.PathQueue, model.ReceiverCPU), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Rate *= unit.BitRate(v) })},
		{ID: "reverse-rate", Doc: "the reverse path is too slow for the acknowledgments", AppliesTo: AtLink, Limiter: model.LinkRate,
			Severities: three(2e6, 5e5, 1e5, rateText), Counterfactual: "a reverse path as fast as the forward path",
			Confusable: limiters(model.PathQueue), Road: LongRoad,
			effects: reverse(func(v float64, h *topology.Shape) { h.Rate = unit.BitRate(v) })},
		{ID: "small-queue", Doc: "the queue in front of the link is shallow", AppliesTo: AtLink, Limiter: model.PathQueue,
			Severities: three(256e3, 64e3, 16e3, bytesText), Counterfactual: "a queue of at least rate × RTT",
			Confusable: limiters(model.PathLoss), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Queue = unit.Bytes(v) })},
		{ID: "policer", Doc: "a policer drops packets above its rate", AppliesTo: AtLink, Limiter: model.PathQueue,
			Severities: three(0.8, 0.5, 0.2, shareText), Counterfactual: "no policer, or sending below its rate",
			Confusable: limiters(model.PathLoss, model.LinkRate), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Rate, h.Queue = h.Rate*unit.BitRate(v), 32*unit.KB })},
		{ID: "reordering", Doc: "some segments arrive 4 ms late, behind later ones", AppliesTo: AtLink, Limiter: model.Reordering,
			Severities: three(1e-3, 1e-2, 5e-2, percentText), Counterfactual: "a path that keeps order",
			Confusable: limiters(model.PathLoss), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Reorder, h.ReorderBy = v, 4*time.Millisecond })},
		{ID: "jitter", Doc: "the delay of the link varies; order is kept", AppliesTo: AtLink, Limiter: model.PathQueue,
			Severities: three(5e-4, 2e-3, 5e-3, delayText), Counterfactual: "a steady delay",
			Confusable: limiters(model.Reordering), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Jitter = time.Duration(v * float64(time.Second)) })},
		{ID: "duplicate", Doc: "some segments arrive twice", AppliesTo: AtLink, Limiter: model.Reordering,
			Severities: three(1e-3, 1e-2, 0.1, percentText), Counterfactual: "a path that delivers each segment once",
			Confusable: limiters(model.PathLoss), Road: LongRoad,
			effects: forward(func(v float64, h *topology.Shape) { h.Duplicate = v })},
		{ID: "mtu-blackhole", Doc: "the link silently drops packets that the hosts' MTU allows", AppliesTo: AtLink, Limiter: model.MTUBlackhole,
			Severities: three(0.995, 0.93, 0.4, mtuText), Counterfactual: "a link that carries the hosts' MTU",
			Confusable: limiters(model.Outage), Road: LongRoad, effects: blackhole},
		{ID: "mtu-blackhole-probed", Doc: "as mtu-blackhole, but the sender finds the MTU by itself after some timeouts (tcp_mtu_probing)", AppliesTo: AtLink, Limiter: model.MTUBlackhole,
			Severities: three(0.995, 0.93, 0.4, mtuText), Counterfactual: "a link that carries the hosts' MTU",
			Confusable: limiters(model.Outage, model.PathLoss), Road: LongRoad, effects: probedBlackhole},
		{ID: "mtu-switch", Doc: "a switch drops the hosts' jumbo frames silently", AppliesTo: AtSwitch, Limiter: model.MTUBlackhole,
			Severities: three(4000, 2000, 1500, mtuBytesText), Counterfactual: "a switch that forwards the hosts' MTU",
			Confusable: limiters(model.Outage), Road: JumboRoad, Needs: "a switch between hosts of a larger MTU", effects: smallSwitch},
	}
}

// forward changes the link in the direction of the data.
func forward(change func(v float64, s *topology.Shape)) func(float64, *site) ([]effect, error) {
	return func(v float64, s *site) ([]effect, error) {
		return []effect{reshape(s.hop.link.ID, s.hop.dir, func(h *topology.Shape) { change(v, h) })}, nil
	}
}

// reverse changes the link against the direction of the data.
func reverse(change func(v float64, s *topology.Shape)) func(float64, *site) ([]effect, error) {
	return func(v float64, s *site) ([]effect, error) {
		return []effect{reshape(s.hop.link.ID, 1-s.hop.dir, func(h *topology.Shape) { change(v, h) })}, nil
	}
}

// blackhole limits the link to a share of the hosts' MTU, in both directions.
func blackhole(v float64, s *site) ([]effect, error) {
	mtu := int(v * float64(s.mtu()))
	small := func(h *topology.Shape) { h.MTU = mtu }
	return []effect{reshape(s.hop.link.ID, 0, small), reshape(s.hop.link.ID, 1, small)}, nil
}

func probedBlackhole(v float64, s *site) ([]effect, error) {
	effects, err := blackhole(v, s)
	return append(effects, sysctl(s.sender.Node, "net.ipv4.tcp_mtu_probing", "1")), err
}

func smallSwitch(v float64, s *site) ([]effect, error) {
	if int(v) >= s.mtu() {
		return nil, fmt.Errorf("the hosts' MTU is %d, so that a switch of MTU %d drops nothing: bring up a topology with jumbo frames, or ask for a smaller one", s.mtu(), int(v))
	}
	return []effect{switchMTU(s.sw, int(v))}, nil
}

func limiters(ids ...model.LimiterID) []model.LimiterID { return ids }
