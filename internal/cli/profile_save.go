package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/tune/profile"
)

func profileSaveCommand(env *environment) *cobra.Command {
	o := tuneOptions{streams: 1}
	var replace bool
	cmd := &cobra.Command{
		Use:   "save NAME [HOST]",
		Short: "Keep what a host has now as a profile of yours, for the settings of another profile and those of --set",
		Long: `save reads the settings of a profile on a host (this machine without HOST) and
keeps the values that run there as a profile of yours. Called "mine", it is the
column of that name of linerate tune. Edit the file to turn values into rules.
It changes nothing on the host.`,
		Example: `  linerate profile save mine nas1
  linerate profile save mine nas1 --profile nfs-server
  linerate profile save fast nas1 --set tcp_rmem='keep keep {2 * bdp}'`,
		Args: usage(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := profile.CheckName(args[0]); err != nil {
				return failure.Of(failure.Usage, "%v", err)
			}
			if err := o.check(env, args[1:]); err != nil {
				return err
			}
			return saveProfile(cmd.Context(), env, o, args[0], replace)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.profile, "profile", "", "the profile whose settings are kept; else the one that fits the host")
	f.StringVar(&o.dev, "dev", "", "interface that carries the data, where it cannot be told")
	f.StringArrayVar(&o.set, "set", nil, "a value or rule to keep instead of what runs, `SETTING=VALUE`; may be repeated")
	f.BoolVar(&replace, "replace", false, "write over a profile of that name")
	return cmd
}

func saveProfile(ctx context.Context, env *environment, o tuneOptions, name string, replace bool) error {
	typed := o.typed
	o.typed = nil // kept, not evaluated; so there is a profile all the same
	d, err := draft(ctx, env, o)
	if err != nil {
		return err
	}
	defer d.close()
	p, left := saved(name, d, typed, env.Now())
	text := profile.Format(p)
	if _, err := profile.Parse(name+".yaml", text); err != nil {
		return fmt.Errorf("keep what %s has: %w", d.name, err)
	}
	for _, l := range left {
		fmt.Fprintf(env.err, "left out %s\n", l)
	}
	return kept(env, name, text, replace)
}

// saved is a profile of what runs on a host, and what was left out with the
// reason.
func saved(name string, d *drafted, typed []profile.Set, now time.Time) (p profile.Profile, left []string) {
	when := now.Format(time.DateOnly)
	p = profile.Profile{V: profile.Version, Name: name, Title: "As " + d.name + " had it on " + when, For: d.profile.For}
	done := map[string]string{}
	for _, x := range typed {
		done[x.Setting] = x.Value
		p.Lines = append(p.Lines, profile.Line{Setting: x.Setting, Value: x.Value, Reason: "typed when it was saved, " + when, Source: "you"})
	}
	for _, r := range d.rows {
		before, seen := done[r.Setting]
		switch {
		case r.Now == "":
			left = append(left, shortName(r.Setting, r.Device)+": "+r.Why)
		case !seen:
			done[r.Setting] = r.Now
			p.Lines = append(p.Lines, profile.Line{Setting: r.Setting, Value: r.Now, Reason: "what ran on " + d.name + " on " + when, Source: d.name})
		case before != r.Now:
			left = append(left, fmt.Sprintf("%s: %s runs there, %s where it was read first", shortName(r.Setting, r.Device), r.Now, before))
		}
	}
	return p, left
}
