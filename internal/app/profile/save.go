package profile

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/tune"
	"linerate/internal/tune/profile"
)

// Save keeps what runs on a host, for the settings of the request's profile, as a
// profile of the user's; what was typed is kept instead of what runs. left is what was
// left out, with the reason.
func Save(ctx context.Context, e app.Env, o tune.Request, name string, replace bool, p app.Progress) (k Kept, left []string, err error) {
	typed := o.Typed
	o.Typed = nil // kept, not evaluated; so there is a profile all the same
	panel, err := tune.MakePanel(ctx, e, o, p)
	if err != nil {
		return Kept{}, nil, err
	}
	made, left := saved(name, panel, typed, e.Now())
	text := profile.Format(made)
	if _, err := profile.Parse(name+".yaml", text); err != nil {
		return Kept{}, nil, fmt.Errorf("keep what %s has: %w", panel.Host, err)
	}
	k, err = keep(e, name, text, replace)
	return k, left, err
}

// saved is a profile of what runs on a host, and what was left out with the
// reason.
func saved(name string, d tune.Panel, typed []tune.Set, now time.Time) (p Profile, left []string) {
	when := now.Format(time.DateOnly)
	p = Profile{V: profile.Version, Name: name, Title: "As " + d.Host + " had it on " + when, For: d.For}
	done := map[string]string{}
	for _, x := range typed {
		done[x.Setting] = x.Value
		p.Lines = append(p.Lines, profile.Line{Setting: x.Setting, Value: x.Value, Reason: "typed when it was saved, " + when, Source: "you"})
	}
	for _, r := range d.Settings {
		before, seen := done[r.Setting]
		switch {
		case r.Current == "":
			left = append(left, tune.ShortName(r.Setting, r.Device)+": "+r.Reason)
		case !seen:
			done[r.Setting] = r.Current
			p.Lines = append(p.Lines, profile.Line{Setting: r.Setting, Value: r.Current, Reason: "what ran on " + d.Host + " on " + when, Source: d.Host})
		case before != r.Current:
			left = append(left, fmt.Sprintf("%s: %s runs there, %s where it was read first", tune.ShortName(r.Setting, r.Device), r.Current, before))
		}
	}
	return p, left
}
