package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"linerate/internal/app/copy"
	"linerate/internal/failure"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// halved is --spread without a number.
const halved = "half"

// copySpreadFlag is the flag of copies to several targets.
func copySpreadFlag(cmd *cobra.Command, f *copyFlags) {
	flag := cmd.Flags().VarPF(&spreadValue{&f.spread}, "spread", "", "copy to several targets, each file to one of them: the last `N` paths (--spread=N), else half of them")
	flag.NoOptDefVal = halved
}

// spreadValue is the number of targets, or halved.
type spreadValue struct{ to *string }

// String implements pflag.Value.
func (v *spreadValue) String() string {
	if v.to == nil {
		return ""
	}
	return *v.to
}

// Type implements pflag.Value.
func (v *spreadValue) Type() string { return "int" }

// Set implements pflag.Value.
func (v *spreadValue) Set(s string) error {
	if n, err := strconv.Atoi(s); s != halved && (err != nil || n < 1) {
		return fmt.Errorf("%s: want the number of targets", s)
	}
	*v.to = s
	return nil
}

// spreadSides takes the arguments of a copy to several targets.
func (f *copyFlags) spreadSides(args []string) error {
	n, err := strconv.Atoi(f.spread)
	if guessed := err != nil; guessed {
		if n = len(args) / 2; len(args)%2 > 0 {
			return failure.Of(failure.Usage, "--spread: %d paths cannot be halved: say how many of them, at the end, are targets, as --spread=%d", len(args), n+1)
		}
		f.Spread.Guessed = true
	}
	if n >= len(args) {
		return failure.Of(failure.Usage, "--spread=%d: of %s there is no source left", n, unit.Count(len(args), "path"))
	}
	f.Sources, f.Spread.Targets = args[:len(args)-n], args[len(args)-n:]
	return nil
}

// checkSpread says which flags cannot be had with several targets.
func (f *copyFlags) checkSpread() error {
	if f.spread == "" {
		return nil
	}
	o := f.Far
	switch {
	case o.Mem > 0:
		return failure.Of(failure.Usage, "--mem moves no files, which --spread would divide: name two hosts, one pair after another")
	case o.Via != "" || o.Port != 0:
		return failure.Of(failure.Usage, "--via and --port are of one pair of hosts, and --spread has several: every host is reached by the address that its name has; leave them out")
	case f.Delete && f.Spread.Guessed:
		return failure.Of(failure.Usage, "--delete deletes at every target: say how many of the paths, at the end, are targets, as --spread=%d", len(f.Spread.Targets))
	}
	return nil
}

// spreadOver is the end of a headline.
func spreadOver(r *copy.Result) string {
	if r.Spread == nil {
		return ""
	}
	return fmt.Sprintf(" from %s to %s", unit.Count(len(r.Sources), "source"), unit.Count(len(r.Spread.Targets), "target"))
}

// spreadBlocks is what each end of a copy to several targets did.
func spreadBlocks(s *copy.Spreading) []document.Block {
	if s == nil {
		return nil
	}
	t := document.Table{Head: document.Columns("", "", "#files", "#data", "#CPU s", "")}
	for i, ends := range [][]copy.SpreadEnd{s.Sources, s.Targets} {
		for _, e := range ends {
			what, files := "target", fmt.Sprint(e.Files)
			if i == 0 {
				what, files = "source", ""
			}
			t.Row(what, e.Name, files, unit.Bytes(e.Bytes).String(), fmt.Sprintf("%.2f", e.CPUSec), e.State)
		}
	}
	out := []document.Block{t.Block()}
	if len(s.Pairs) == 0 { // two trees were compared, and nothing was sent
		return out
	}
	p := document.Table{Head: document.Columns("from", "to", "#data", "#rate", "")}
	for _, x := range s.Pairs {
		p.Row(x.From, x.To, unit.Bytes(x.Bytes).String(), unit.Bytes(x.Rate/8).String()+"/s", x.Way)
	}
	return append(out, p.Block())
}
