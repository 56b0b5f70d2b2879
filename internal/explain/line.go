package explain

import (
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Line is the verdict in one line: measured against the ceiling, the limiter
// with its first evidence, the fix, what it is expected to bring.
func Line(v model.Verdict) string {
	parts := []string{measuredPart(v) + ".", limiterPart(v)}
	if n := v.NextLimit; n != nil && n.Limiter != model.None {
		parts = append(parts, fmt.Sprintf("Next: %s%s, from about %s.", n.Limiter, at(model.Verdict{Host: n.Host}), n.At))
	}
	if p := fixPart(v); p != "" {
		parts = append(parts, p)
	}
	return strings.Join(parts, " ")
}

func measuredPart(v model.Verdict) string {
	if v.Ceiling == nil || v.ShareOfCeiling == nil {
		return v.Measured.String() + " (ceiling not known)"
	}
	return fmt.Sprintf("%s (%s)", pair(v.Measured, *v.Ceiling, " of "), pct(*v.ShareOfCeiling))
}

func limiterPart(v model.Verdict) string {
	switch v.Limiter {
	case model.None:
		if s := v.ShareOfCeiling; s != nil && *s < belowCeiling {
			return "No limiter found: the path is near its ceiling, and " + pct(1-*s) + " are not explained."
		}
		return "No limiter: the path is at its ceiling."
	case model.Undetermined:
		return "Limiter: undetermined" + because(v) + "."
	}
	if len(v.Contradictions) > 0 {
		return fmt.Sprintf("Limiter: not certain, perhaps %s%s%s; but %s.", v.Limiter, at(v), because(v), v.Contradictions[0].What)
	}
	return fmt.Sprintf("Limiter: %s%s%s.", v.Limiter, at(v), because(v))
}

func at(v model.Verdict) string {
	switch {
	case v.Host != "":
		return " at " + v.Host
	case v.Where == model.AtPath:
		return " on the path"
	case v.Where == model.AtServer:
		return " at the server's storage"
	case v.Where == model.AtReceiver:
		return " at the receiver"
	case v.Where == model.AtSender:
		return " at the sender"
	}
	return ""
}

func because(v model.Verdict) string {
	if len(v.Evidence) == 0 {
		return ""
	}
	return " (" + v.Evidence[0].What + ")"
}

func fixPart(v model.Verdict) string {
	out := ""
	switch v.Fix.Kind {
	case model.FixSetting:
		out = fmt.Sprintf("Fix: %s %q → %q on %s", v.Fix.Setting, v.Fix.From, v.Fix.To, v.Fix.Host)
	case model.FixOperator:
		out = "For the operator: " + v.Fix.Advice
	default:
		if v.Limiter == model.None || v.Fix.Advice == "" {
			return ""
		}
		out = "Next: " + v.Fix.Advice
	}
	if g := v.ExpectedGain; g != nil {
		if v.Fix.Kind == model.FixSetting {
			out += "; expected " + pair(g.Low, g.High, "-")
		} else {
			out += "; at most " + g.High.String()
		}
	}
	return out + "."
}

// pair prints two rates with the unit once where they share it.
func pair(a, b unit.BitRate, sep string) string {
	x, y := a.String(), b.String()
	i, j := strings.LastIndexByte(x, ' '), strings.LastIndexByte(y, ' ')
	if i >= 0 && j >= 0 && x[i:] == y[j:] {
		return x[:i] + sep + y
	}
	return x + sep + y
}
