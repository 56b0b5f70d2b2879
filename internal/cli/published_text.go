package cli

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/published"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// listPublished prints whole papers: a line per result, or with whole set the
// full conditions, the notes and the gaps.
func listPublished(env *environment, papers []published.Paper, whole bool) error {
	d := document.Document{Labels: 8}
	for _, p := range papers {
		year := "no year printed"
		if p.Year > 0 {
			year = fmt.Sprint(p.Year)
		}
		s := document.Section{Blocks: []document.Block{{Pairs: []document.Pair{{Name: p.Key, Value: fmt.Sprintf("%s. %s, %s. %d results", p.Title, p.Authors, year, len(p.Results))}}}}}
		s.Add(resultBlocks(p.Results, whole)...)
		if whole {
			s.Add(noteBlock("About the paper", p.Remarks)...)
			s.Add(noteBlock("Not in this list", p.Gaps)...)
		}
		d.Sections = append(d.Sections, s)
	}
	d.Sections = append(d.Sections, publishedLegend())
	if !whole {
		d.Sections = append(d.Sections, document.Paragraph("The doubts, conditions and gaps of a paper: linerate published --paper KEY"))
	}
	return printDocument(env, d)
}

func publishedLegend() document.Section {
	return document.Section{Blocks: []document.Block{{Text: "!  known doubts; ?  the paper leaves something open; ~  a claim, no measurement shown"},
		{Text: "MB/s are taken as 10^6 bytes; no paper says whether its tool means 2^20 (4.9% more)."}}}
}

func noteBlock(title string, notes []string) []document.Block {
	return []document.Block{document.List(title, notes...)}[:min(1, len(notes))]
}

// printMatches prints results below the heads of their papers.
func printMatches(env *environment, o publishedOptions, papers []published.Paper, ms []published.Match) error {
	d := document.Document{Labels: 8, Headline: fmt.Sprintf("%s like %q", counted(len(ms), "published result"), o.like)}
	if missed := ms[0].Missed; len(missed) > 0 {
		n := len(ms[0].Matched) + len(missed)
		d.Headline = fmt.Sprintf("no published result matches every word of %q; these %d match %d of %d:", o.like, len(ms), n-len(missed), n)
	}
	for _, p := range papers {
		var own []published.Result
		for _, m := range ms {
			if m.Paper == p.Key {
				own = append(own, m.Result)
			}
		}
		if len(own) > 0 {
			head := document.Block{Pairs: []document.Pair{{Name: p.Key, Value: p.Title}}}
			d.Sections = append(d.Sections, document.Section{Blocks: append([]document.Block{head}, resultBlocks(own, true)...)})
		}
	}
	d.Sections = append(d.Sections, publishedLegend())
	return printDocument(env, d)
}

func printPlace(env *environment, o publishedOptions, p published.Placing) error {
	line := fmt.Sprintf("%s%s is above %d of %s like %q; %d higher", p.Rate, ofLink(p.Share), p.Lower,
		counted(len(p.Compared), "published result"), o.like, p.Higher)
	if p.CannotTell > 0 {
		line += fmt.Sprintf(", %d that cannot be told from it", p.CannotTell)
	}
	d := document.Document{Labels: 8, Headline: line + ".", Lead: []document.Block{{Text: highest(p)}}}
	say := func(text string) { d.Lead = append(d.Lead, document.Block{Text: text}) }
	if p.LeftOut > 0 {
		say(fmt.Sprintf("Left out: %s that the paper only claims or leaves unclear, or that went over no link of a stated rate; without --place they are shown.", counted(p.LeftOut, "match", "matches")))
	}
	if p.Share == nil {
		say("The words name no link rate: results of all links are compared.")
	}
	say("Other hardware, other years: this is no verdict. linerate explain finds what limits yours.")
	d.Sections = []document.Section{{Blocks: rankedBlocks(p)}, publishedLegend()}
	return printDocument(env, d)
}

// rankedBlocks are what a rate was compared with, highest first, and the rate at
// its place.
func rankedBlocks(p published.Placing) []document.Block {
	t := resultTable{whole: true, Table: document.Table{Head: document.Columns("Where", "#Rate", "#As printed", "#Of link", "", "What and how")}}
	here := func() {
		t.Row("→ this one", p.Rate.String(), "", shareOr(p.Share), "", "")
		t.Below = append(t.Below, "")
	}
	done := false
	for _, r := range p.Compared {
		if !done && p.Rate > r.Rate() {
			here()
			done = true
		}
		t.row(r, "  "+r.Paper+", "+r.Where, r.Rate().String(), r.Amount())
	}
	if !done {
		here()
	}
	return t.blocks()
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
	return fmt.Sprintf(" (%s of the link)", shareOr(share))
}

// resultTable has results below each other, the notes below them.
type resultTable struct {
	document.Table
	whole bool // every condition, and doubts as notes; else one line each
	notes []string
}

func resultBlocks(rs []published.Result, whole bool) []document.Block {
	t := resultTable{whole: whole, Table: document.Table{Head: document.Columns("Where", "#Result", "#Of link", "", "What and how")}}
	if !whole {
		t.Head[len(t.Head)-1].Clip = true
	}
	for _, r := range rs {
		t.row(r, r.Where, r.Amount())
	}
	return t.blocks()
}

// row adds a result after its first cells.
func (t *resultTable) row(r published.Result, first ...string) {
	what, below := conditions(r, t.whole), ""
	if t.whole {
		what, below = []string{what[0] + t.refer(r)}, strings.Join(what[1:], ", ")
	}
	t.Row(append(first, shareOf(r), marks(r), strings.Join(what, ", "))...)
	t.Below = append(t.Below, below)
}

func (t *resultTable) blocks() []document.Block {
	notes := document.Block{}
	for i, n := range t.notes {
		notes.Lines = append(notes.Lines, document.Line{Label: fmt.Sprintf("[%d]", i+1), Text: n})
	}
	return []document.Block{t.Block(), notes}
}

// shareOf prints the share of the link's rate with the paper's own vagueness.
func shareOf(r published.Result) string {
	s := shareOr(r.Share())
	switch {
	case r.Share() == nil:
		return s
	case r.To > 0:
		to := float64(r.RateTo() / r.Link)
		return strings.TrimSuffix(s, "%") + "-" + shareOr(&to)
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
	return unit.Count(n, noun)
}
