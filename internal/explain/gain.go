package explain

import (
	"fmt"

	"linerate/internal/model"
	calc "linerate/internal/size"
	"linerate/internal/unit"
)

// gainLow is the part of the bound that a fix is expected to reach at least.
const gainLow = 0.9

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
	if b, w := s.bufferBound(fix); b > 0 && !(b >= high) {
		high, why = b, w
	}
	if !known(high) || high <= s.total {
		return nil
	}
	low := gainLow * high
	switch {
	case fix.Kind == model.FixOperator, f.id == model.PacketCost:
		// How far an operator goes, and how dear a packet is, is not known.
		low, why = s.total, why+"; how near it comes depends on what is done"
	}
	return &model.Gain{Low: unit.BitRate(max(low, s.total)), High: unit.BitRate(high), Why: why}
}

// bufferBound is the lowest rate at which a socket buffer's maximum fills, as
// it will be after the fix: one window per round trip and stream.
func (s *scene) bufferBound(fix model.Fix) (float64, string) {
	best, why := unknown(), ""
	for _, b := range []struct {
		e    *End
		id   string
		part float64
	}{{s.c.Receiver, rmemSetting, s.windowShare()}, {s.c.Sender, wmemSetting, calc.SendShare}} {
		limit, ok := thirdOf(b.e, b.id)
		if fix.Setting == b.id {
			limit, ok = thirdNumber(fix.To)
		}
		if !ok || s.minRTT <= 0 {
			continue
		}
		rate := float64(calc.PerRoundTrip(float64(limit)*b.part, s.minRTT)) * s.c.streams()
		if !(rate >= best) {
			best, why = rate, fmt.Sprintf("%s of %s at %s", b.id, size(float64(limit)), ms(s.minRTT))
		}
	}
	return best, why
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
	case model.ReceiverWindow, model.SendBuffer, model.Pacing, model.SmallSegments:
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
