package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// flagError words what is wrong with a flag for whoever typed it: a flag that is not there
// gets those that are like it, and a number that is none is called so.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	var number *strconv.NumError
	if errors.As(err, &bad) && errors.As(err, &number) {
		return fmt.Errorf("--%s %q: want %s; see %s --help", bad.GetFlag().Name, bad.GetValue(), kindOfNumber(bad.GetFlag().Value.Type(), number), cmd.CommandPath())
	}
	return likeFlag(cmd, err)
}

func kindOfNumber(kind string, e *strconv.NumError) string {
	switch {
	case kind == "bool":
		return "true or false"
	case errors.Is(e.Err, strconv.ErrRange):
		return "a number that is nearer to 0"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number, 0 or more"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	}
	return "a number without a unit"
}

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
