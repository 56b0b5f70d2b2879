package tune

import (
	"fmt"
	"strings"
	"time"

	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/tune/profile"
)

// NewPlan is the one maker of plans: it turns those of rows that are changes
// into the plan that makes them on the host of f. It is pure: --dry-run prints
// the plan, Apply executes it. id names it for Undo; within is
// model.Plan.ConfirmWithin. The changes come in the order of Order.
//
// It refuses (ErrPlan) a setting that the guide does not know, and two values
// for one setting. Unless the user typed the value, it also refuses to trade
// data safety or security for speed, and to lower a running limit: that must be
// asked for by name, not come out of a diagnosis or a profile.
func NewPlan(id string, f *model.Facts, within time.Duration, rows []profile.Row) (model.Plan, error) {
	p := model.Plan{V: model.PlanVersion, ID: id, Host: f.Host, BootID: f.BootID, ConfirmWithin: within}
	seen := map[profile.Place]bool{}
	for _, r := range rows {
		if !r.Change {
			continue
		}
		if err := allowed(r); err != nil {
			return model.Plan{}, fmt.Errorf("%w: %w", ErrPlan, err)
		}
		if seen[r.Place] {
			return model.Plan{}, fmt.Errorf("%w: two values for %s", ErrPlan, r.Place)
		}
		seen[r.Place] = true
		p.Changes = append(p.Changes, changeOf(r))
	}
	p.Changes = Order(p.Changes)
	return p, nil
}

// allowed tells why a row may not be part of a plan; nil: it may.
func allowed(r profile.Row) error {
	known, ok := guide.Find(r.Setting)
	switch {
	case !ok:
		return fmt.Errorf("the guide does not know %s, so its risk is not known", r.Setting)
	case r.Typed:
		return nil
	}
	if trades := profile.Trades(known, r.Now, r.To); trades != "" {
		return fmt.Errorf("%s trades %s: it is changed only by name, never by a diagnosis", r.Setting, trades)
	}
	if known.NeverLower && profile.Lowers(r.Now, r.To) {
		return fmt.Errorf("%s would go from %q down to %q", r.Setting, r.Now, r.To)
	}
	return nil
}

func changeOf(r profile.Row) model.Change {
	return model.Change{
		Setting: r.Setting, Target: r.Target, From: r.Now, To: r.To, Why: r.Why, Source: r.Source, Risk: r.Risk, Needs: r.Needs, Cuts: r.Cuts,
		Device: r.Device, Trades: r.Trades, Typed: r.Typed,
	}
}

// RowOf is the row that makes a change of an earlier plan again. The row counts
// as typed if the change was.
func RowOf(c model.Change) profile.Row {
	return profile.Row{
		Place: profile.Place{Setting: c.Setting, Target: c.Target}, Change: true, Now: c.From, To: c.To,
		Why: c.Why, Source: c.Source, Risk: c.Risk, Needs: c.Needs, Cuts: c.Cuts,
		Device: c.Device, Trades: c.Trades, Typed: c.Typed,
	}
}

// FixRow is the row that carries out the fix of a verdict on the host of f.
//
// It refuses (ErrPlan) a fix that is no setting or is for another host, and one
// for a value that f shows to be another by now.
func FixRow(f *model.Facts, v model.Verdict) (profile.Row, error) {
	fix := v.Fix
	if fix.Kind != model.FixSetting {
		return profile.Row{}, fmt.Errorf("%w: the fix is no setting (%s): %s", ErrPlan, fix.Kind, fix.Advice)
	}
	if fix.Host != f.Host {
		return profile.Row{}, fmt.Errorf("%w: the fix is for %q, the facts are of %q", ErrPlan, fix.Host, f.Host)
	}
	if now, ok := f.Settings[fix.Setting].Get(); ok && strings.Join(strings.Fields(fix.From), " ") != now {
		return profile.Row{}, fmt.Errorf("%w: %w", ErrPlan, &ChangedError{Where: fix.Setting, Planned: fix.From, Found: now})
	}
	known, _ := guide.Find(fix.Setting) // NewPlan refuses what it does not know
	return profile.Row{
		Place: profile.Place{Setting: fix.Setting, Target: fix.Target}, Change: true,
		Now: fix.From, To: fix.To, Why: v.Line, Source: strings.Join(known.Sources, "; "),
	}, nil
}
