package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/conf"
)

// likeCommand asks whether one was meant that is like what was typed.
func likeCommand(cmd *cobra.Command, typed string) string {
	var all []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c.Name())
		}
	}
	return didYouMean(typed, all, "")
}

// likeFlag adds to the error about a flag that is not there those that are like it.
func likeFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	var all []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			all = append(all, f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return fmt.Errorf("%w%s; see %s --help", err, didYouMean(unknown.GetSpecifiedName(), all, "--"), cmd.CommandPath())
}

// didYouMean names up to three that begin as what was typed does, or differ from it in a
// third of its letters at most; nothing where none is like it.
func didYouMean(typed string, all []string, prefix string) string {
	slices.Sort(all)
	like := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, strings.ToLower(typed)) })
	for _, s := range conf.Closest(typed, all, 3) {
		if !slices.Contains(like, s) && conf.Away(typed, s) <= max(1, len(typed)/3) {
			like = append(like, s)
		}
	}
	like = slices.Compact(like)
	if len(like) == 0 || typed == "" {
		return ""
	}
	for i, s := range like {
		like[i] = prefix + s
	}
	return "; did you mean " + strings.Join(like[:min(3, len(like))], " or ") + "?"
}
