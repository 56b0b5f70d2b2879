package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"linerate/internal/app/load"
	"linerate/internal/unit"
)

func printVerify(env *environment, r *load.VerifyResult) error {
	if env.json {
		return printJSON(env, r)
	}
	v := r.Verify
	var b strings.Builder
	how := "past the page cache"
	if !v.Direct {
		how = "through the page cache"
	}
	fmt.Fprintf(&b, "%s: %v looked at, %s\n\n", v.Target, unit.Bytes(v.Checked), how)
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "proven\t%v\tas runs wrote it, where they wrote it\n", unit.Bytes(v.Proven))
	fmt.Fprintf(w, "zeroes\t%v\t\n", unit.Bytes(v.Zero))
	fmt.Fprintf(w, "wrong\t%v\t\n", unit.Bytes(v.Wrong))
	if len(r.Runs) > 0 {
		fmt.Fprintln(w, "\nRUN\tHOLDS\tWRITTEN")
	}
	for _, x := range r.Runs {
		fmt.Fprintf(w, "%s\t%v\t%s to %s\n", x.Run, unit.Bytes(x.Bytes), x.First.Format(time.RFC3339Nano), x.Last.Format(time.RFC3339Nano))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Journal != nil {
		fmt.Fprintf(&b, "\nJournal of run %s: %v acknowledged\n", r.Journal.Run, unit.Bytes(r.Journal.Acknowledged))
	}
	printPlaces(&b, v)
	for _, e := range v.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	_, err := fmt.Fprint(env.out, b.String())
	return err
}

func printPlaces(w io.Writer, v load.Verified) {
	const shown = 10
	if len(v.Places) > 0 {
		fmt.Fprintln(w)
	}
	for _, p := range v.Places[:min(len(v.Places), shown)] {
		fmt.Fprintf(w, "offset %d, %v: %s: %s\n", p.Offset, unit.Bytes(p.Bytes), p.Fault, p.Detail)
	}
	if n := len(v.Places) + v.More - shown; n > 0 {
		fmt.Fprintf(w, "and %s more\n", unit.Count(n, "place"))
	}
}
