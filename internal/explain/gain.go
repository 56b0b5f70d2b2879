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
