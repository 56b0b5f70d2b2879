package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"linerate/internal/published"
	"linerate/internal/unit"
)

const publishedLegend = `!  known doubts    ?  the paper leaves something open    ~  a claim, no measurement shown
MB/s are taken as 10^6 bytes; no paper says whether its tool means 2^20 (4.9% more).
`

// listPublished prints whole papers: a line per result, or with whole set the
// full conditions, the notes and the gaps.
func listPublished(env *environment, papers []published.Paper, whole bool) error {
	for i, p := range papers {
		if i > 0 {
			fmt.Fprintln(env.out)
		}
		printPaper(env, p)
		t := resultTable{out: env.out, width: env.width, whole: whole}
		t.print(p.Results)
		if whole {
			printNotes(env, "About the paper", p.Remarks)
			printNotes(env, "Not in this list", p.Gaps)
		}
	}
	fmt.Fprint(env.out, "\n"+publishedLegend)
	if !whole {
		fmt.Fprintln(env.out, "The doubts, conditions and gaps of a paper: linerate published --paper KEY")
	}
	return nil
}

func printPaper(env *environment, p published.Paper) {
	year := "no year printed"
	if p.Year > 0 {
		year = fmt.Sprint(p.Year)
	}
	head := fmt.Sprintf("%s. %s, %s. %d results", p.Title, p.Authors, year, len(p.Results))
	hang(env.out, fmt.Sprintf("%-8s", p.Key), head, env.width)
}

func printNotes(env *environment, title string, notes []string) {
	if len(notes) == 0 {
		return
	}
	fmt.Fprintf(env.out, "\n  %s\n", title)
	for _, n := range notes {
		hang(env.out, "  - ", n, env.width)
	}
}

func printMatches(env *environment, o publishedOptions, papers []published.Paper, ms []published.Match) error {
	if missed := ms[0].Missed; len(missed) > 0 {
		n := len(ms[0].Matched) + len(missed)
		fmt.Fprintf(env.out, "no published result matches every word of %q; these %d match %d of %d:\n\n", o.like, len(ms), n-len(missed), n)
	} else {
		fmt.Fprintf(env.out, "%s like %q\n\n", counted(len(ms), "published result"), o.like)
	}
	var rs []published.Result
	for _, m := range ms {
		rs = append(rs, m.Result)
	}
	printByPaper(env, papers, rs)
	fmt.Fprint(env.out, publishedLegend)
	return nil
}

// printByPaper prints results below the heads of their papers.
func printByPaper(env *environment, papers []published.Paper, rs []published.Result) {
	for _, p := range papers {
		var own []published.Result
		for _, r := range rs {
			if r.Paper == p.Key {
				own = append(own, r)
			}
		}
		if len(own) == 0 {
			continue
		}
		hang(env.out, fmt.Sprintf("%-8s", p.Key), p.Title, env.width)
		t := resultTable{out: env.out, width: env.width, whole: true}
		t.print(own)
		fmt.Fprintln(env.out)
	}
}

func printPlace(env *environment, o publishedOptions, p published.Placing) error {
	line := fmt.Sprintf("%s%s is above %d of %s like %q; %d higher", p.Rate, ofLink(p.Share), p.Lower,
		counted(len(p.Compared), "published result"), o.like, p.Higher)
	if p.CannotTell > 0 {
		line += fmt.Sprintf(", %d that cannot be told from it", p.CannotTell)
	}
	say := func(format string, args ...any) { hang(env.out, "", fmt.Sprintf(format, args...), env.width) }
	say("%s.", line)
	say("%s", highest(p))
	if p.LeftOut > 0 {
		say("Left out: %s that the paper only claims or leaves unclear, or that went over no link of a stated rate; without --place they are shown.", counted(p.LeftOut, "match", "matches"))
	}
	if p.Share == nil {
		say("The words name no link rate: results of all links are compared.")
	}
	say("Other hardware, other years: this is no verdict. linerate explain finds what limits yours.")
	fmt.Fprintln(env.out)
	rankedTable(env, p)
	fmt.Fprint(env.out, "\n"+publishedLegend)
	return nil
}

// rankedTable prints what a rate was compared with, highest first, and the rate
// at its place.
func rankedTable(env *environment, p published.Placing) {
	t := resultTable{out: env.out, width: env.width, whole: true}
	here := func() {
		fmt.Fprintf(env.out, "→ %-*s  %11s  %18s  %6s\n", placeWidth, "this one", p.Rate, "", percent(p.Share))
	}
	done := false
	for _, r := range p.Compared {
		if !done && p.Rate > r.Rate() {
			here()
			done = true
		}
		t.row(r, fmt.Sprintf("  %-*s  %11s  %18s", placeWidth, shorten(r.Paper+", "+r.Where, placeWidth), r.Rate(), r.Amount()))
	}
	if !done {
		here()
	}
	t.footnotes()
}

// highest names the best of what was compared, and if that is in doubt the best
// that is not.
func highest(p published.Placing) string {
	name := func(r published.Result) string {
		s := fmt.Sprintf("%s, %s: %s", r.Paper, r.Where, r.Amount())
		if r.Share() != nil {
			s += fmt.Sprintf(" (%s of the link)", shareOf(r))
		}
		return s
	}
	best := p.Compared[0]
	if len(best.Doubts) == 0 {
		return "The highest is " + name(best) + "."
	}
	s := "The highest is " + name(best) + ", which is in doubt (see below)"
	i := slices.IndexFunc(p.Compared, func(r published.Result) bool { return len(r.Doubts) == 0 })
	if i < 0 {
		return s + ", as all of them are."
	}
	return s + "; without known doubts " + name(p.Compared[i]) + "."
}

func ofLink(share *float64) string {
	if share == nil {
		return ""
	}
	return fmt.Sprintf(" (%s of the link)", percent(share))
}

// resultTable prints results below each other, the notes below them.
type resultTable struct {
	out   io.Writer
	width int
	whole bool // every condition, and doubts as notes; else one line each
	notes []string
}

// Widest place that is printed whole where a result has but one line.
const placeWidth = 26

func (t *resultTable) print(rs []published.Result) {
	where, amount := 0, 0
	for _, r := range rs {
		where, amount = max(where, utf8.RuneCountInString(r.Where)), max(amount, utf8.RuneCountInString(r.Amount()))
	}
	where = min(where, placeWidth)
	for _, r := range rs {
		t.row(r, fmt.Sprintf("  %-*s  %*s", where, shorten(r.Where, where), amount, r.Amount()))
	}
	t.footnotes()
}

// row prints one result after its label.
func (t *resultTable) row(r published.Result, label string) {
	label += fmt.Sprintf("  %6s %-3s ", shareOf(r), marks(r))
	what := conditions(r, t.whole)
	if !t.whole {
		fmt.Fprintln(t.out, label+shorten(strings.Join(what, ", "), t.width-utf8.RuneCountInString(label)))
		return
	}
	hang(t.out, label, what[0]+t.refer(r), t.width)
	if len(what) > 1 {
		hang(t.out, "      ", strings.Join(what[1:], ", "), t.width)
	}
}

func (t *resultTable) footnotes() {
	for i, n := range t.notes {
		hang(t.out, fmt.Sprintf("  [%d] ", i+1), n, t.width)
	}
}

// shareOf prints the share of the link's rate with the paper's own vagueness.
func shareOf(r published.Result) string {
	s := percent(r.Share())
	switch {
	case r.Share() == nil:
		return s
	case r.To > 0:
		to := float64(r.RateTo() / r.Link)
		return strings.TrimSuffix(s, "%") + "-" + percent(&to)
	case r.As == published.Over:
		return ">" + s
	}
	return s
}

// refer names the notes of a result, adding those that are new.
func (t *resultTable) refer(r published.Result) string {
	notes := slices.Clone(r.Doubts)
	if r.Unclear != "" {
		notes = append(notes, "Unclear: "+r.Unclear)
	}
	s := ""
	for _, n := range notes {
		i := slices.Index(t.notes, n)
		if i < 0 {
			i = len(t.notes)
			t.notes = append(t.notes, n)
		}
		s += fmt.Sprintf(" [%d]", i+1)
	}
	return s
}

func marks(r published.Result) string {
	s := ""
	if len(r.Doubts) > 0 {
		s += "!"
	}
	if r.Unclear != "" {
		s += "?"
	}
	if r.Claim {
		s += "~"
	}
	return s
}

// conditions of a result as words: what first, then the path and its ends. Not
// whole: without the tool, its sizes and the page.
func conditions(r published.Result, whole bool) []string {
	out := []string{subject(r)}
	add := func(ok bool, format string, args ...any) {
		if ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(r.Metric != published.Change && r.Change != "", "%s", r.Change)
	add(r.Link > 0 && r.Metric != published.Change, "%g GbE", float64(r.Link/unit.Gbit))
	add(r.Clients != "" && r.Clients != "1", "%s", people(r.Clients))
	add(r.Storage != "", "%s", r.Storage)
	add(r.MTU > 0 && !strings.HasPrefix(r.Change, "MTU"), "MTU %d", r.MTU)
	add(r.Jumbo, "jumbo frames")
	add(r.Client != "", "%s", r.Client)
	add(r.Server != "", "%s", r.Server)
	if !whole {
		return out
	}
	add(r.Block > 0, "%s blocks", plainBytes(r.Block))
	add(r.File > 0, "%s files", plainBytes(r.File))
	add(r.Threads == 1, "one stream")
	add(r.Threads > 1, "%d in parallel", r.Threads)
	add(r.Tool != "", "%s", r.Tool)
	add(strings.Contains(r.Page, "-"), "pages %s", r.Page)
	add(r.Page != "" && !strings.Contains(r.Page, "-"), "page %s", r.Page)
	return out
}

// subject is what was measured: "NFSv3 read", "iSCSI read, CPU".
func subject(r published.Result) string {
	name := map[string]string{"nfs": "NFS", "smb": "SMB", "iscsi": "iSCSI", "tcp": "TCP", "local": "local"}[r.Protocol]
	if r.Version != "" {
		name = r.Version
	}
	parts := []string{name, r.Direction}
	switch r.Metric {
	case published.IOPS:
		parts = append(parts, "IOPS")
	case published.Latency:
		parts = append(parts, "latency")
	case published.CPU:
		parts = append(parts, "CPU")
	case published.CPUPerOp:
		parts = append(parts, "CPU time per operation")
	case published.Retransmits:
		parts = append(parts, "retransmits")
	}
	s := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
	switch {
	case r.Metric == published.Change && s != "":
		return s + ": " + r.Change
	case r.Metric == published.Change:
		return r.Change
	case s == "":
		return "direction not stated"
	}
	return s
}

// people completes a number of clients: "6" is "6 clients".
func people(s string) string {
	if s == "" || strings.HasSuffix(s, "servers") {
		return s
	}
	return s + " clients"
}

// plainBytes prints bytes with the prefix that divides them: 75 MB, 256 KiB.
func plainBytes(b unit.Bytes) string {
	switch {
	case b >= unit.MiB && b%unit.MiB == 0:
		return fmt.Sprintf("%d MiB", b/unit.MiB)
	case b >= unit.MB && b%unit.KiB != 0:
		return fmt.Sprintf("%g MB", float64(b)/float64(unit.MB))
	}
	return b.String()
}

func counted(n int, noun string, irregular ...string) string {
	if n != 1 && len(irregular) > 0 {
		return fmt.Sprintf("%d %s", n, irregular[0])
	}
	return plural(n, noun)
}

// hang prints text after a label, its further lines below its beginning.
func hang(w io.Writer, label, text string, width int) {
	indent := utf8.RuneCountInString(label)
	text = strings.Join(wrapWords(text, max(width-indent, 20)), "\n"+strings.Repeat(" ", indent))
	fmt.Fprintln(w, strings.TrimRight(label+text, " "))
}
