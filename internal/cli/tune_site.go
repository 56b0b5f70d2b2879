package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/app/tune"
	"linerate/internal/failure"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// siteOptions name hosts of a site in place of one host.
type siteOptions struct {
	site, of string
}

func (s *siteOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&s.site, "site", "", "the hosts of a site instead of one: all, names (nas1,nas2) or labels (role=dtn); docs/fleet.md")
	f.StringVar(&s.of, "of", "", "with --site: the `SITE`, where this machine keeps several")
}

// check refuses a host beside a selection.
func (s *siteOptions) check(args []string) error {
	switch {
	case s.site == "" && s.of != "":
		return failure.Of(failure.Usage, "--of names the site whose hosts --site selects: give --site too")
	case s.site != "" && len(args) > 0:
		return failure.Of(failure.Usage, "name either %s or hosts of a site with --site", args[0])
	}
	return nil
}

// alone lets a flag --site stand without a value, for all hosts of a site; what follows it is then
// read by selected.
func alone(f *pflag.FlagSet) { f.Lookup("site").NoOptDefVal = everyHost }

const everyHost = "all"

// selected takes the selection that follows --site as an argument of its own.
func selected(site string, args []string) (string, []string) {
	if site == everyHost && len(args) == 1 {
		return args[0], nil
	}
	return site, args
}

// request is the change of many hosts.
func (s *siteOptions) request(o tuneOptions) tune.SiteRequest {
	return tune.SiteRequest{Request: o.Request, Site: s.site, Of: s.of}
}

func runSitePlan(ctx context.Context, env *environment, s siteOptions, o tuneOptions) error {
	if o.Persist {
		return failure.Of(failure.Usage, "--persist shows the files of one host: name it, as site:HOST")
	}
	p := newProgress(env)
	defer p.End()
	doc, err := tune.PlanSite(ctx, env.Env, s.request(o), p)
	if err != nil {
		return wordTune(err)
	}
	doc.DryRun = o.dry
	return printed(env, doc, nil, func() error { return printDocument(env, sitePage(doc)) })
}

func runSiteApply(ctx context.Context, env *environment, s siteOptions, o tuneOptions) error {
	if o.dry {
		return runSitePlan(ctx, env, s, o)
	}
	p := newProgress(env)
	defer p.End()
	doc, err := tune.ApplySite(ctx, env.Env, s.request(o), func(plan tune.SitePlan) {
		if !env.json {
			_ = printDocument(env, sitePage(plan)) // the changes do not wait for a reader
		}
	}, p)
	return printSite(env, doc, err)
}

// printSite prints what became of a change of many hosts, also where it ended before its end.
func printSite(env *environment, doc tune.SitePlan, err error) error {
	if doc.V == 0 {
		return wordTune(err)
	}
	perr := printed(env, doc, nil, func() error { return printDocument(env, siteOutcome(doc)) })
	if err != nil {
		return wordTune(err)
	}
	if perr != nil && len(doc.Waves) > 0 {
		return failure.Of(failure.NotRestored, "%w; the hosts are changed all the same: linerate tune undo --site %s --plan %s", perr, doc.Site, doc.Plan)
	}
	return perr
}

// sitePage is the plan of many hosts for people.
func sitePage(doc tune.SitePlan) document.Document {
	d := document.Document{Headline: fmt.Sprintf("--site %s: %s", doc.Site, unit.Count(len(doc.Hosts), "host"))}
	for _, g := range doc.Groups {
		so, all := judged(g.Example.Refused)
		title := unit.Count(len(g.Hosts), "host") + ": " + countOf(len(g.Example.Plan), so, all, "change", "changes")
		if len(g.Example.Plan) == 0 {
			d.Add(title, document.Block{Text: someHosts(g.Hosts)})
			d.Sections = append(d.Sections, refusedSections(g.Example.Refused)...)
			continue
		}
		blocks := []document.Block{{Text: someHosts(g.Hosts)}}
		if len(g.Hosts) > 1 {
			blocks[0].Text += "; the reasons are those of " + g.Hosts[0]
		}
		for _, l := range g.Example.Plan {
			blocks = append(blocks, document.Block{Card: lineCard(l, g.Example.Host, false)})
		}
		d.Add(title, blocks...)
	}
	for _, l := range doc.Lost {
		d.Add(unit.Count(len(l.Hosts), "host")+" not looked at: "+l.Why, document.Block{Text: someHosts(l.Hosts)})
	}
	if len(doc.Waves) > 0 {
		var sizes []string
		for _, w := range doc.Waves {
			sizes = append(sizes, strconv.Itoa(len(w)))
		}
		d.Sections = append(d.Sections, document.Paragraph(fmt.Sprintf("In %s: %s; %s is the first", unit.Count(len(sizes), "wave"), strings.Join(sizes, ", "), doc.Waves[0][0])))
	}
	return d
}

// hostsNamed is how many hosts of many are named on a page; --json has all.
const hostsNamed = 12

func someHosts(hosts []string) string {
	if len(hosts) <= hostsNamed {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:hostsNamed], ", "), len(hosts)-hostsNamed)
}

// siteOutcome says what is so on the hosts after their change.
func siteOutcome(doc tune.SitePlan) document.Document {
	by := map[tune.State][]string{}
	t := document.Table{Head: document.Columns("Host", "Wave", "State", "Path")}
	for _, h := range doc.Hosts {
		by[h.State] = append(by[h.State], h.Name)
		if h.Wave == 1 || h.Why != "" {
			state := strings.ReplaceAll(string(h.State), "-", " ")
			if h.Why != "" {
				state += ": " + h.Why
			}
			t.Row(h.Name, strconv.Itoa(h.Wave), state, h.Path)
		}
	}
	var parts []string
	for _, s := range []struct {
		state tune.State
		words string
	}{{tune.Planned, "as planned"}, {tune.Before, "as before"}, {tune.Nothing, "without a change in the plan"}, {tune.UndoneSince, "undone since"}, {tune.Unknown, "not known"}} {
		if n := len(by[s.state]); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	d := document.Document{Headline: unit.Count(len(doc.Hosts), "host") + ": " + strings.Join(parts, ", ")}
	if more := len(doc.Hosts) - len(t.Rows); more > 0 && len(t.Rows) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("Not listed: %s of later waves, of which there is nothing to say; --json has all.", unit.Count(more, "host")))
	}
	if len(t.Rows) > 0 {
		d.Lead = append(d.Lead, t.Block())
	}
	if len(by[tune.Planned]) > 0 && doc.Plan != "" {
		d.Lead = append(d.Lead, document.Block{Text: fmt.Sprintf("To have everything as it was: linerate tune undo --site %s --plan %s", doc.Site, doc.Plan)})
	}
	return d
}

func tuneResumeCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "resume [PLAN]",
		Short: "Continue a change of many hosts that was stopped, interrupted or killed",
		Long: `resume goes on with tune apply --site; without PLAN with the newest that is not at its
end. It asks each host first what is so there: what waits to be confirmed is put back,
what is confirmed stays. Then the waves that are left are carried out, with the plan
that was made in the beginning: a host whose values are others by now refuses it.`,
		Example: "  linerate tune resume\n  linerate tune resume tune-20260401-120000-1a2b",
		Args:    usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			p := newProgress(env)
			defer p.End()
			doc, err := tune.Resume(cmd.Context(), env.Env, id, p)
			return printSite(env, doc, err)
		},
	}
}

// runSiteUndo puts back what linerate changed on many hosts.
func runSiteUndo(ctx context.Context, env *environment, s siteOptions, r tune.UndoRequest) error {
	if r.To > 0 || r.FromScript {
		return failure.Of(failure.Usage, "--to and --from-script are about the journal of one host: name it, as site:HOST")
	}
	p := newProgress(env)
	defer p.End()
	doc, err := tune.UndoSite(ctx, env.Env, s.of, s.site, r, p)
	if len(doc.Hosts) > 0 {
		perr := printed(env, doc, nil, func() error { return printDocument(env, siteUndonePage(doc)) })
		if err == nil && perr != nil {
			return failure.Of(failure.Failed, "%w; the changes were undone all the same", perr)
		}
	}
	return wordTune(err)
}

// siteUndonePage is one summary of an undo on many hosts: equal outcomes once.
func siteUndonePage(doc tune.SiteUndone) document.Document {
	type outcome struct {
		text  string
		hosts []string
	}
	var all []outcome
	at := map[string]int{}
	changes := 0
	for _, h := range doc.Hosts {
		var lines []string
		for _, e := range h.Changes {
			lines = append(lines, entryLine(e))
		}
		changes += len(h.Changes)
		lines = append(lines, h.Notes...)
		if h.Error != "" {
			lines = append(lines, "NOT UNDONE: "+strings.ReplaceAll(h.Error, h.Host, "HOST"))
		}
		if len(lines) == 0 {
			lines = []string{"nothing to undo"}
		}
		text := strings.Join(lines, "\n")
		if _, ok := at[text]; !ok {
			at[text] = len(all)
			all = append(all, outcome{text: text})
		}
		all[at[text]].hosts = append(all[at[text]].hosts, h.Host)
	}
	d := document.Document{Headline: fmt.Sprintf("--site %s: %s, %s put back", doc.Site, unit.Count(len(doc.Hosts), "host"), unit.Count(changes, "change"))}
	for _, o := range all {
		var b document.Block
		for _, line := range strings.Split(o.text, "\n") {
			b.Lines = append(b.Lines, document.Line{Text: line})
		}
		d.Add(unit.Count(len(o.hosts), "host")+": "+someHosts(o.hosts), b)
	}
	return d
}
