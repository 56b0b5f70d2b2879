package explain

import (
	"fmt"
	"math"

	"linerate/internal/model"
	calc "linerate/internal/size"
	"linerate/internal/unit"
)

// gainLow is the part of the bound that a fix is expected to reach at least.
const gainLow = 0.9

// sendMost is how much more than calc.SendShare of a send buffer may be payload: the smaller the
// buffer, the more of it. Of 2 MiB to 256 KiB, at 16 ms, 0.70 to 0.95 were measured to be in flight.
const sendMost = 1.3

// gainFor is the goodput to expect once the limiter is gone: at most the
// ceiling and at most what the next limit that can be computed allows. nil
// when nothing bounds it.
func gainFor(s *scene, f *finding, fix model.Fix) *model.Gain {
	switch f.id {
	case model.None, model.StartUp, model.Undetermined, model.Outage:
		return nil
	}
	if fix.Kind != model.FixSetting && !known(s.ceiling) {
		return nil
	}
	high, why := s.ceilingWithout(f), "the ceiling of the link"
	low := gainLow * high
	if b, most, w := s.bufferBound(fix); b > 0 && !(b >= high) {
		low, high, why = gainLow*b, min(most, high), w
		if !known(high) {
			high = most
		}
	}
	if !known(high) || high <= s.total {
		return nil
	}
	switch {
	case fix.Kind == model.FixOperator, f.id == model.PacketCost:
		// How far an operator goes, and how dear a packet is, is not known.
		low, why = s.total, why+"; how near it comes depends on what is done"
	}
	return &model.Gain{Low: unit.BitRate(max(low, s.total)), High: unit.BitRate(high), Why: why}
}

// bufferBound is the lowest rate at which a socket buffer's maximum fills, as
// it will be after the fix: one window per round trip and stream. most is the lowest rate where as
// much of each is payload as may be.
func (s *scene) bufferBound(fix model.Fix) (best, most float64, why string) {
	best, most = unknown(), math.Inf(1)
	for _, b := range []struct {
		e         *End
		id        string
		part, top float64
	}{{s.c.Receiver, rmemSetting, s.windowShare(), 1}, {s.c.Sender, wmemSetting, calc.SendShare, sendMost}} {
		limit, ok := thirdOf(b.e, b.id)
		if fix.Setting == b.id {
			limit, ok = thirdNumber(fix.To)
		}
		if !ok || s.minRTT <= 0 {
			continue
		}
		rate := float64(calc.PerRoundTrip(float64(limit)*b.part, s.minRTT)) * s.c.streams()
		most = min(most, b.top*rate)
		if !(rate >= best) {
			best, why = rate, fmt.Sprintf("%s of %s at %s", b.id, size(float64(limit)), ms(s.minRTT))
		}
	}
	return best, most, why
}

// around adds the range to the next limit, by what it was computed from: a link's ceiling
// is exact but for the last tenth that a sender does not fill; the payload share of a
// buffer varies by a quarter; that work grows with the rate is a guess; and senders
// respond to the same losses several-fold differently. Less than what was measured is not
// to be expected, nor more than the ceiling.
func around(v *model.Verdict) {
	n := v.NextLimit
	if n == nil {
		return
	}
	low, high := 0.6, 1.5
	switch n.Limiter {
	case model.None:
		low, high = atCeiling, 1.02
	case model.SendBuffer:
		low, high = 0.75, sendMost
	case model.ReceiverWindow, model.Pacing, model.SmallSegments:
		low, high = 0.75, 1.15
	case model.PathLoss, model.PathQueue, model.CongestionControl:
		low, high = 0.4, 2.5
	}
	n.Low = max(unit.BitRate(low)*n.At, min(v.Measured, n.At))
	n.High = unit.BitRate(high) * n.At
	if v.Ceiling != nil && n.High > 1.02**v.Ceiling {
		n.High = max(n.At, 1.02**v.Ceiling)
	}
}
