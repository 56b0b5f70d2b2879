package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/size"
	"linerate/internal/unit"
)

// quantity is a flag with a unit: text in, value out, through one parser.
type quantity[T fmt.Stringer] struct {
	to    *T
	kind  string
	parse func(string) (T, error)
}

func (q *quantity[T]) Set(s string) error {
	v, err := q.parse(s)
	if err != nil {
		return err
	}
	*q.to = v
	return nil
}

// String is the default in --help: nothing for a value that need not be given.
func (q *quantity[T]) String() string {
	if q.to == nil {
		return ""
	}
	switch s := (*q.to).String(); s {
	case "0 B", "0 bit/s", "0 B/s", "0s":
		return ""
	default:
		return s
	}
}

func (q *quantity[T]) Type() string { return q.kind }

func rateFlag(cmd *cobra.Command, to *unit.BitRate, name, help string) {
	quantityFlag(cmd, &quantity[unit.BitRate]{to: to, kind: "rate", parse: positive(unit.ParseBitRate)}, name, help)
}

func bytesFlag(cmd *cobra.Command, to *unit.Bytes, name, help string) {
	quantityFlag(cmd, &quantity[unit.Bytes]{to: to, kind: "size", parse: positive(unit.ParseBytes)}, name, help)
}

// byteRateFlag takes what disks are sold by: "150MB", "150MB/s".
func byteRateFlag(cmd *cobra.Command, to *size.ByteRate, name, help string) {
	quantityFlag(cmd, &quantity[size.ByteRate]{to: to, kind: "size/s", parse: positive(size.ParseByteRate)}, name, help)
}

func timeFlag(cmd *cobra.Command, to *time.Duration, name, help string) {
	quantityFlag(cmd, &quantity[time.Duration]{to: to, kind: "time", parse: positive(unit.ParseTime)}, name, help)
}

// durationVar adds a time with a default; what it may be is its command's to check.
func durationVar(f *pflag.FlagSet, to *time.Duration, name string, otherwise time.Duration, help string) {
	*to = otherwise
	f.Var(&quantity[time.Duration]{to: to, kind: "time", parse: unit.ParseTime}, name, help)
}

// positive refuses zero and less: a quantity that was typed is meant.
func positive[T unit.BitRate | unit.Bytes | size.ByteRate | time.Duration](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		v, err := parse(s)
		if err == nil && !(v > 0) {
			err = fmt.Errorf("%q is not above zero", s)
		}
		return v, err
	}
}

// completeFlags makes the shell offer the names that some flags take, and no
// files for plain numbers; nor for arguments, where a command takes none.
func completeFlags(cmd *cobra.Command, names map[string][]string, numbers ...string) *cobra.Command {
	if _, file, _ := strings.Cut(cmd.Use, " "); file == "" {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, n := range numbers {
		_ = cmd.RegisterFlagCompletionFunc(n, cobra.NoFileCompletions)
	}
	for f, choices := range names {
		_ = cmd.RegisterFlagCompletionFunc(f, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// quantityFlag adds a flag with a unit.
func quantityFlag[T fmt.Stringer](cmd *cobra.Command, q *quantity[T], name, help string) {
	cmd.Flags().Var(q, name, help)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
}

// share is a percentage that may be absent: "67" or "67%" is 0.67.
type share struct{ to **float64 }

func (s share) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(v >= 0 && v <= 100) {
		return fmt.Errorf("%q is no percentage from 0 to 100", text)
	}
	v /= 100
	*s.to = &v
	return nil
}
func (s share) String() string { return "" }
func (s share) Type() string   { return "percent" }
