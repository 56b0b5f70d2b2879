package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/report/document"
	"linerate/internal/size"
)

func sizeCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "size",
		Short: "Calculators: what a link, window, slot, pool or cache carries, and what a goal needs",
		Long: `size computes ceilings from numbers and prints each result with its formula and
the numbers put in. It looks at no host. With --reverse it turns round: --rate is
then the goal, and the answer is what that goal needs.`,
		Example: `  linerate size link --rate 10Gbit --mtu 9000
  linerate size window --rate 40Gbit --rtt 16ms
  linerate size pool --layout raidz2 --vdevs 4 --width 6 --disk-size 10TB
  linerate size nfs --reverse --rate 40Gbit --rtt 500us`,
		Args:              calculatorName,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	// A new calculator is one file of internal/size, a function here and a line.
	cmd.AddCommand(
		sizeLinkCommand(env), sizeWindowCommand(env), sizePCIeCommand(env), sizeNFSCommand(env),
		sizeISCSICommand(env), sizePoolCommand(env), sizeRAMCommand(env), sizeStreamsCommand(env),
	)
	return cmd
}

// calculatorName refuses an unknown calculator.
func calculatorName(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return failure.Of(failure.Usage, "unknown calculator %q; choose one of %s", args[0], strings.Join(names, ", "))
}

// calculate runs one direction of a calculator and prints the answer. Its
// errors are all about the input.
func calculate[In any](env *environment, in *In, forward, reverse func(In) (size.Answer, error)) *cobra.Command {
	back := false
	cmd := &cobra.Command{
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return failure.Of(failure.Usage, "unexpected argument %q: inputs are flags; see %s --help", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := forward
			if back {
				f = reverse
			}
			a, err := f(*in)
			if goal := (*size.GoalError)(nil); errors.As(err, &goal) {
				err = fmt.Errorf("%w; it needs --reverse", err)
			}
			if err != nil {
				return failure.Of(failure.Usage, "%w; see %s --help", err, cmd.CommandPath())
			}
			if env.json {
				return printJSON(env, a)
			}
			return printDocument(env, answerPage(a))
		},
	}
	cmd.Flags().BoolVar(&back, "reverse", false, "compute what a goal needs")
	return cmd
}

// answerPage has the results, then their formulas, then the notes.
func answerPage(a size.Answer) (d document.Document) {
	var results, formulas document.Block
	for _, r := range a.Results {
		d.Labels = max(d.Labels, utf8.RuneCountInString(r.Name)+2)
		results.Pairs = append(results.Pairs, document.Pair{Name: r.Name, Value: r.Text()})
		formulas.Pairs = append(formulas.Pairs, document.Pair{Name: r.Name, Value: r.Formula})
	}
	d.Add("", results)
	d.Add("Formulas", formulas)
	d.Add("", noteBlock("Notes", a.Notes)...)
	return d
}
