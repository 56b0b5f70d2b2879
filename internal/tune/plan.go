package tune

import (
	"fmt"
	"strings"

	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/tune/profile"
)

// NewPlan turns the fix of a verdict into the plan that changes it on the host
// of f. It is pure: --dry-run prints it, Apply executes it. id names the plan
// for Undo.
//
// It refuses (ErrPlan) a fix that is no setting or is for another host, a
// setting that the guide does not know, one that trades data safety or security
// for speed, a value that f shows to be another
// than the fix was made for, and a value that would lower a running limit:
// that must be asked for by name, not come out of a diagnosis.
func NewPlan(id string, f *model.Facts, v model.Verdict) (model.Plan, error) {
	fix := v.Fix
	if fix.Kind != model.FixSetting {
		return model.Plan{}, fmt.Errorf("%w: the fix is no setting (%s): %s", ErrPlan, fix.Kind, fix.Advice)
	}
	if fix.Host != f.Host {
		return model.Plan{}, fmt.Errorf("%w: the fix is for %q, the facts are of %q", ErrPlan, fix.Host, f.Host)
	}
	known, ok := guide.Find(fix.Setting)
	if !ok {
		return model.Plan{}, fmt.Errorf("%w: the guide does not know %s, so its risk is not known", ErrPlan, fix.Setting)
	}
	if known.Trades != "" {
		return model.Plan{}, fmt.Errorf("%w: %s trades %s: it is changed only by name, never by a diagnosis", ErrPlan, fix.Setting, known.Trades)
	}
	if now, ok := f.Settings[fix.Setting].Get(); ok && strings.Join(strings.Fields(fix.From), " ") != now {
		return model.Plan{}, fmt.Errorf("%w: %w", ErrPlan, &ChangedError{Where: fix.Setting, Planned: fix.From, Found: now})
	}
	if known.NeverLower && profile.Lowers(fix.From, fix.To) {
		return model.Plan{}, fmt.Errorf("%w: %s would go from %q down to %q", ErrPlan, fix.Setting, fix.From, fix.To)
	}
	return model.Plan{
		V: model.PlanVersion, ID: id, Host: f.Host, BootID: f.BootID,
		Changes: []model.Change{{
			Setting: fix.Setting, Target: fix.Target, From: fix.From, To: fix.To,
			Why: v.Line, Source: strings.Join(known.Sources, "; "),
		}},
	}, nil
}
