package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/published"
	"linerate/internal/unit"
)

type publishedOptions struct {
	like, paper, place string
}

// publishedJSON is the document of docs/json.md.
type publishedJSON struct {
	V       int               `json:"v"`
	Like    string            `json:"like,omitempty"`
	Papers  []published.Paper `json:"papers"`
	Results []publishedResult `json:"results"`
	Place   *publishedPlace   `json:"place,omitempty"`
}

type publishedResult struct {
	published.Result
	Rate   *unit.BitRate `json:"bps"`
	RateTo *unit.BitRate `json:"to_bps,omitempty"`
	Share  *float64      `json:"share_of_line_rate"`
	Missed []string      `json:"missed,omitempty"`
}

type publishedPlace struct {
	Rate       unit.BitRate `json:"rate_bps"`
	Share      *float64     `json:"share_of_line_rate"`
	Compared   []string     `json:"compared"`
	Lower      int          `json:"lower"`
	Higher     int          `json:"higher"`
	CannotTell int          `json:"cannot_tell"`
	LeftOut    int          `json:"left_out"`
}

func publishedCommand(env *environment) *cobra.Command {
	var o publishedOptions
	cmd := &cobra.Command{
		Use:   "published",
		Short: "List what the five papers measured, and place a rate among it",
		Long: `published lists the results of the five papers that linerate grew from, each with
its place in the paper, its conditions and the reasons to doubt it. --like keeps
those that match every word (or, if there is none, those that miss the fewest);
--place says how many of these a rate is above. Other hardware in other years: a
place among them is no verdict, linerate explain gives that.`,
		Example: `  linerate published
  linerate published --paper SFC
  linerate published --like "10GbE NFS read"
  linerate published --like "10GbE NFS read" --place 3.9Gbit`,
		Args: usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return runPublished(env, o) },
	}
	cmd.Flags().StringVar(&o.like, "like", "", `words: link rate, protocol, direction, tool, paper, … ("10GbE NFS read")`)
	cmd.Flags().StringVar(&o.paper, "paper", "", "only this paper: "+strings.Join(published.Keys(), ", "))
	cmd.Flags().StringVar(&o.place, "place", "", "a measured rate, e.g. 3.9Gbit, to place among the results of --like")
	_ = cmd.RegisterFlagCompletionFunc("paper", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return published.Keys(), cobra.ShellCompDirectiveNoFileComp
	})
	for _, f := range []string{"like", "place"} {
		_ = cmd.RegisterFlagCompletionFunc(f, cobra.NoFileCompletions)
	}
	return cmd
}

func runPublished(env *environment, o publishedOptions) error {
	papers, err := choosePapers(o.paper)
	if err != nil {
		return err
	}
	if o.like == "" {
		if o.place != "" {
			return failure.Of(failure.Usage, `place a rate: --place needs --like, for example --like "10GbE NFS read": a rate has a place only among results like it`)
		}
		if env.json {
			return printJSON(env, publishedDocument(o, papers, everything(papers), nil))
		}
		return listPublished(env, papers, o.paper != "")
	}
	q, err := published.ParseQuery(o.like)
	if err != nil {
		return failure.As(failure.Usage, err)
	}
	if o.place != "" {
		return placePublished(env, o, papers, q)
	}
	matches := published.Nearest(published.Like(results(papers), q))
	if len(matches) == 0 {
		return failure.Of(failure.Nothing, "find results: none matches any word of %q; linerate published lists all %d", o.like, len(results(papers)))
	}
	if env.json {
		return printJSON(env, publishedDocument(o, papers, matches, nil))
	}
	return printMatches(env, o, papers, matches)
}

// choosePapers are all papers, or the one of that key.
func choosePapers(key string) ([]published.Paper, error) {
	all := published.Papers()
	if key == "" {
		return all, nil
	}
	i := slices.IndexFunc(all, func(p published.Paper) bool { return strings.EqualFold(p.Key, key) })
	if i < 0 {
		return nil, failure.Of(failure.Usage, "list papers: no paper %q; there are %s", key, strings.Join(published.Keys(), ", "))
	}
	return all[i : i+1], nil
}

func results(papers []published.Paper) []published.Result {
	var out []published.Result
	for _, p := range papers {
		out = append(out, p.Results...)
	}
	return out
}

func everything(papers []published.Paper) []published.Match {
	var out []published.Match
	for _, r := range results(papers) {
		out = append(out, published.Match{Result: r})
	}
	return out
}

func placePublished(env *environment, o publishedOptions, papers []published.Paper, q published.Query) error {
	rate, err := unit.ParseBitRate(o.place)
	if err != nil {
		return failure.As(failure.Usage, err)
	}
	p, err := published.Place(results(papers), rate, q)
	if err != nil {
		return failure.As(failure.Usage, err)
	}
	if len(p.Compared) == 0 {
		return failure.Of(failure.Nothing, "place a rate: no published throughput to compare with matches every word of %q (%d that do are claims, unclear, or over no link of a stated rate); drop a word, or leave --place away to see them", o.like, p.LeftOut)
	}
	if !env.json {
		return printPlace(env, o, p)
	}
	var compared []published.Match
	for _, r := range p.Compared {
		compared = append(compared, published.Match{Result: r})
	}
	return printJSON(env, publishedDocument(o, papers, compared, &p))
}

func publishedDocument(o publishedOptions, papers []published.Paper, ms []published.Match, p *published.Placing) publishedJSON {
	doc := publishedJSON{V: 1, Like: o.like, Papers: []published.Paper{}, Results: []publishedResult{}}
	for _, p := range papers {
		if slices.ContainsFunc(ms, func(m published.Match) bool { return m.Paper == p.Key }) {
			doc.Papers = append(doc.Papers, p)
		}
	}
	for _, m := range ms {
		r := publishedResult{Result: m.Result, Share: m.Share(), Missed: m.Missed}
		if v := m.Rate(); v > 0 {
			r.Rate = &v
		}
		if v := m.RateTo(); v > 0 {
			r.RateTo = &v
		}
		doc.Results = append(doc.Results, r)
	}
	if p != nil {
		doc.Place = &publishedPlace{Rate: p.Rate, Share: p.Share, Lower: p.Lower, Higher: p.Higher, CannotTell: p.CannotTell, LeftOut: p.LeftOut}
		for _, r := range p.Compared {
			doc.Place.Compared = append(doc.Place.Compared, r.ID)
		}
	}
	return doc
}
