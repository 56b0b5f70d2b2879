package cli

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"linerate/internal/app/runs"
	"linerate/internal/app/watch"
	"linerate/internal/failure"
	"linerate/internal/report/compare"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func isHistory(ref string) bool { return strings.HasPrefix(ref, runs.HistoryPrefix) }

// reportHistory renders what a stretch of history says.
func reportHistory(env *environment, ref, format string, o reportOptions) error {
	s, err := runs.OpenHistory(env.Env, ref)
	if err != nil {
		return err
	}
	d := s.Digest()
	if env.json {
		return printJSON(env, d)
	}
	page := pastPage(d)
	if format == "text" && o.output == "" {
		return printDocument(env, page)
	}
	var buf bytes.Buffer
	switch format {
	case "json":
		err = document.JSON(&buf, d)
	case "text":
		err = page.Text(&buf, false, env.width)
	case "md":
		err = page.Markdown(&buf)
	case "html":
		err = page.HTML(&buf)
	default:
		return failure.Of(failure.Usage, "history cannot be written as %s; choose text, html, md or json", format)
	}
	if err != nil {
		return err
	}
	return writeReport(env, &buf, format, o.output)
}

func pastPage(d runs.Digest) document.Document {
	w := d.Whole
	doc := document.Document{Title: d.Path, Headline: historyLine(d)}
	doc.Lead = []document.Block{{Text: fmt.Sprintf("%s to %s, seen for %s. %s of what was shown; %s on the hosts.", d.From.Format("2006-01-02 15:04 MST"), d.To.Format("2006-01-02 15:04 MST"),
		w.Seen.Round(time.Second), unit.Count(d.Changes, "change"), unit.Count(len(d.Marks), "change"))}}
	shown := document.Table{Head: document.Columns("Shown", "#For", "#Of the time", "#Of the bytes")}
	for _, x := range w.Shown {
		shown.Row(wordsOf(x.Named), x.For.Round(time.Second).String(), unit.PercentTenths(x.For.Seconds()/max(1e-9, w.Seen.Seconds())), unit.PercentTenths(x.OfBytes))
	}
	doc.Add("What held it back", shown.Block())
	rows := document.Table{Head: document.Columns("From", "#Carried", "#Most", "#Of ceiling", "#RTT median", "#RTT 99%", "Shown most")}
	for _, r := range d.Rows {
		most := "–"
		if len(r.Shown) > 0 {
			most = wordsOf(r.Shown[0].Named)
		}
		rows.Row(r.At.In(d.From.Location()).Format("01-02 15:04:05"), rateOr(r.Goodput), rateOr(r.Most), shareOr(r.Share), timeOr(r.RTT50), timeOr(r.RTT99), most)
	}
	doc.Add("How it went", rows.Block())
	hosts := document.Table{Head: document.Columns("Host", "#Seen", "Busiest core", "Interfaces")}
	for _, h := range d.Hosts {
		hosts.Row(h.Name, h.Seen.Round(time.Second).String(), busiestOf(h.Busiest), nicsOf(h.NICs))
	}
	if len(hosts.Rows) > 0 {
		doc.Add("Hosts, in means", hosts.Block())
	}
	if len(d.Marks) > 0 {
		doc.Add("What changed on them", document.List("", marksOf(d)...))
	}
	for _, p := range d.Problems {
		doc.Sections = append(doc.Sections, document.Paragraph("note: "+p))
	}
	return doc
}

// historyLine is the digest in one sentence.
func historyLine(d runs.Digest) string {
	w := d.Whole
	if w.Goodput == nil {
		return "What the path carried is not known"
	}
	text := fmt.Sprintf("%v on average", *w.Goodput)
	if w.Share != nil && w.Ceiling != nil {
		text += fmt.Sprintf(", %.0f%% of what it could", 100**w.Share)
	}
	if len(w.Shown) > 0 {
		text += "; longest shown: " + wordsOf(w.Shown[0].Named)
	}
	return text
}

func busiestOf(c *watch.Core) string {
	if c == nil {
		return "–"
	}
	return fmt.Sprintf("%d: user %.0f%%, system %.0f%%, softirq %.0f%%, steal %.0f%%", c.CPU, 100*c.User, 100*c.System, 100*c.SoftIRQ, 100*c.Steal)
}

func nicsOf(all []watch.NIC) string {
	var out []string
	for _, n := range all {
		if n.Name != "lo" {
			out = append(out, fmt.Sprintf("%s in %v, out %v, %.3g drops/s", n.Name, n.In, n.Out, n.Drops))
		}
	}
	return strings.Join(out, "; ")
}

func marksOf(d runs.Digest) (out []string) {
	for _, m := range d.Marks[max(0, len(d.Marks)-50):] {
		out = append(out, fmt.Sprintf("%s  %s %s of %s: %s → %s", m.At.In(d.From.Location()).Format("01-02 15:04:05"), m.Kind, m.What, dashed(m.Host), dashed(m.From), dashed(m.To)))
	}
	return out
}

func rateOr(r *unit.BitRate) string {
	if r == nil {
		return "–"
	}
	return r.String()
}

func timeOr(d *time.Duration) string {
	if d == nil {
		return "–"
	}
	return d.Round(10 * time.Microsecond).String()
}

// compareHistory sets two stretches of history side by side.
func compareHistory(env *environment, first, second string) error {
	if !isHistory(first) || !isHistory(second) {
		return failure.Of(failure.Usage, "compare %s %s: history is compared with history, and runs with runs", first, second)
	}
	c, err := runs.CompareHistory(env.Env, first, second)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, c)
	}
	doc := document.Document{Headline: c.Line}
	if c.Ratio != nil {
		doc.Headline += "; B is " + compare.RatioText(c.Ratio) + " of A"
	}
	both := document.Table{Head: document.Columns("", "A", "B")}
	for _, x := range []struct {
		name string
		say  func(runs.Digest) string
	}{
		{"path", func(d runs.Digest) string { return d.Path }},
		{"from", func(d runs.Digest) string { return d.From.Format("Mon 2006-01-02 15:04 MST") }},
		{"seen for", func(d runs.Digest) string { return d.Whole.Seen.Round(time.Second).String() }},
		{"carried, mean", func(d runs.Digest) string { return rateOr(d.Whole.Goodput) }},
		{"carried, most", func(d runs.Digest) string { return rateOr(d.Whole.Most) }},
		{"of its ceiling", func(d runs.Digest) string { return shareOr(d.Whole.Share) }},
		{"RTT median", func(d runs.Digest) string { return timeOr(d.Whole.RTT50) }},
		{"RTT 99%", func(d runs.Digest) string { return timeOr(d.Whole.RTT99) }},
		{"sent twice", func(d runs.Digest) string { return shareOr(d.Whole.Resent) }},
		{"changes on hosts", func(d runs.Digest) string { return fmt.Sprint(len(d.Marks)) }},
	} {
		both.Row(x.name, x.say(c.A), x.say(c.B))
	}
	doc.Add("", both.Block())
	doc.Add("While it moved data", movingBlocks(c)...)
	doc.Add("What was shown, of the time", shownTable(c.A, c.B).Block())
	for _, p := range append(c.A.Problems, c.B.Problems...) {
		doc.Sections = append(doc.Sections, document.Paragraph("note: "+p))
	}
	return printDocument(env, doc)
}

// movingBlocks say how the rates differ while data moved, and what that does not show.
func movingBlocks(c runs.HistoryComparison) []document.Block {
	t := document.Table{Head: document.Columns("", "B over A (95% interval)", "Blocks", "Conclusion")}
	row := func(name string, o runs.Observed) {
		blocks := "–"
		if o.Block > 0 {
			blocks = fmt.Sprintf("%s of %v", unit.Count(o.Pairs, "pair"), o.Block)
		}
		said := o.Conclusion
		if o.Why != "" {
			said += ": " + o.Why
		}
		t.Row(name, withInterval(o.Ratio, o.Low, o.High), blocks, said)
	}
	row("B beside A", c.Moving)
	if c.AA != nil {
		row("A/A: the earlier one beside "+c.AA.From.In(c.A.From.Location()).Format("Mon 2006-01-02 15:04"), c.AA.Observed)
	}
	blocks := []document.Block{t.Block()}
	switch {
	case c.NoAA != "":
		blocks = append(blocks, document.Block{Text: "No A/A check: " + c.NoAA + ". What such stretches differ by without a reason is not known."})
	case c.AA.Differs():
		blocks = append(blocks, document.Block{Strong: "The path differed between the stretches before, too: a difference of such a size may have no reason."})
	}
	return append(blocks, document.Block{Text: "Observed, not applied: other things may have changed, such as the files, the hosts and the demand. linerate study applies a change and measures its effect."},
		document.List("What changed on hosts between the two, as far as it was watched:", betweenOf(c)...))
}

// betweenOf lists what changed after the earlier stretch and before the later one.
func betweenOf(c runs.HistoryComparison) []string {
	if len(c.Between) == 0 {
		return []string{"nothing was seen"}
	}
	return marksOf(runs.Digest{From: c.A.From, Marks: c.Between})
}

// shownTable has a row for each state that either shows.
func shownTable(a, b runs.Digest) document.Table {
	t := document.Table{Head: document.Columns("Shown", "#A", "#B")}
	share := func(d runs.Digest, what string) string {
		for _, x := range d.Whole.Shown {
			if wordsOf(x.Named) == what {
				return unit.PercentTenths(x.For.Seconds() / max(1e-9, d.Whole.Seen.Seconds()))
			}
		}
		return "–"
	}
	seen := map[string]bool{}
	for _, d := range []runs.Digest{a, b} {
		for _, x := range d.Whole.Shown {
			if w := wordsOf(x.Named); !seen[w] {
				seen[w] = true
				t.Row(w, share(a, w), share(b, w))
			}
		}
	}
	return t
}
