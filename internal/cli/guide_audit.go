package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	appguide "linerate/internal/app/guide"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/report/document"
)

func guideAuditCommand(env *environment) *cobra.Command {
	var o appguide.Source
	cmd := &cobra.Command{
		Use:   "audit [HOST]",
		Short: "Find a host's inherited tuning and say whether it still holds",
		Long: `audit reads the files in which a host keeps tuning: sysctl.conf and sysctl.d,
rc scripts, modprobe.d, udev rules, .link files, NetworkManager, netplan, TuneD's
active profile, units, mounts, exports, Samba, kernel arguments, scripts of NIC
drivers; on illumos /etc/system and driver files. For each value it says who set
it, whether the advice behind it still holds, whether the value is in force now,
and which value would apply without the line. It changes nothing. It lists
settings that the guide does not know, and does not judge them.

Of a host that runs another system (illumos, FreeBSD, macOS, OneFS, Windows) it
judges the values in force there, as check reads them.

HOST is this host (the default), a host that ssh reaches, or a host of the lab.
Lines that set nothing stay on the host; no option makes it read another file.

The last line that sets a value wins; audit calls the others shadowed.`,
		Example: `  linerate guide audit                        this host
  linerate guide audit nas1                   over ssh; as root it sees more
  linerate guide audit admin@winfiler         the values in force there
  linerate guide audit --kernel 6.18          what after an upgrade of the kernel?
  linerate guide audit --from /tmp/nas1       a recording of linerate check --snapshot DIR
  linerate guide audit --root /mnt/recorded   a tree of files, e.g. a mounted disk
  linerate guide audit --json`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Host = args[0]
			}
			if err := checkAudit(o); err != nil {
				return err
			}
			p := newProgress(env)
			report, err := appguide.Audit(cmd.Context(), env.Env, p, o)
			p.End()
			if err != nil {
				return auditError(o, err)
			}
			if env.json {
				return printJSON(env, report)
			}
			return printDocument(env, auditPage(report))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Root, "root", "", "directory `DIR` that stands for /: a recorded tree")
	f.StringVar(&o.From, "from", "", "read the recording in folder or archive `DIR` (made by linerate check --snapshot DIR)")
	f.StringVar(&o.Kernel, "kernel", "", "judge as if this kernel ran, e.g. 6.18")
	return cmd
}

// checkAudit validates what was typed after guide audit.
func checkAudit(o appguide.Source) error {
	if o.Kernel != "" {
		if _, err := guide.ParseRelease(o.Kernel); err != nil {
			return failure.Of(failure.Usage, "audit: %w", err)
		}
	}
	n := 0
	for _, from := range []string{o.Host, o.Root, o.From} {
		if from != "" {
			n++
		}
	}
	if n > 1 {
		return failure.Of(failure.Usage, "audit either a HOST, --from or --root, not more than one of them")
	}
	return nil
}

// auditError names the flag that leads further.
func auditError(o appguide.Source, err error) error {
	var path *appguide.PathError
	switch {
	case errors.As(err, &path):
		return failure.Of(failure.Usage, "%w; for a tree of files there is --root", err)
	case o.Root != "" && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; name the directory that stands for / with --root", err)
	}
	return err
}

func auditPage(r guide.Report) document.Document {
	system := "system " + r.OS
	switch {
	case r.Kernel != "":
		system += ", kernel " + r.Kernel
	case r.OS == "linux":
		system += ", kernel not known: defaults that depend on it are not compared; say --kernel"
	}
	d := document.Document{Labels: 12, Headline: system}
	say := func(text string) { d.Add("", document.Block{Text: text}) }
	count := map[guide.Status]int{}
	for _, status := range guide.Statuses() {
		for _, it := range r.Items {
			if it.Status != status {
				continue
			}
			if count[status]++; status != guide.NotKnown && !asItCame(it) {
				d.Add("", document.Block{Card: itemCard(it)})
			}
		}
	}
	if n := len(r.Items); n > 0 && count[guide.NotKnown] == n {
		say("nothing inherited that the guide has an opinion on")
	}
	d.Sections = append(d.Sections, defaultsSection(r.Items))
	d.Sections = append(d.Sections, notKnownSections(r.Items)...)
	if r.Owners != "" {
		say("owners of files: " + r.Owners)
	}
	for _, file := range slices.Sorted(maps.Keys(r.Unread)) {
		say("not read: " + file + ": " + r.Unread[file])
	}
	if len(r.Items) == 0 {
		say("no inherited tuning: none of the files sets anything")
	} else {
		say(countStatuses(count))
	}
	return d
}

// asItCame tells whether a value of the running system is one that nobody need have chosen: it takes one line.
func asItCame(it guide.Item) bool { return it.Status == guide.NoOp && it.SetBy == guide.Running }

// defaultsSection lists such values.
func defaultsSection(items []guide.Item) document.Section {
	list := document.Section{Title: "at their defaults, or of no effect"}
	for _, it := range items {
		if asItCame(it) {
			list.Add(document.Block{Lines: []document.Line{{Text: valued(it), Note: it.Why}}})
		}
	}
	return list
}

// valued is a setting with its value and its device.
func valued(it guide.Item) string {
	if it.Device != "" {
		return it.Name + " = " + it.Value + " (" + it.Device + ")"
	}
	return it.Name + " = " + it.Value
}

// notKnownSections list what is not judged. What packages bring and the guide
// does not know is the distribution's own, and told in one line.
func notKnownSections(items []guide.Item) []document.Section {
	var packages []string
	list, lines := document.Section{Title: "not judged, most of it because the guide does not know it"}, 0
	for _, it := range items {
		if it.Status != guide.NotKnown {
			continue
		}
		if _, pkg, ok := strings.Cut(it.SetBy, ", package "); ok {
			pkg, _, _ = strings.Cut(pkg, ",")
			if lines++; !slices.Contains(packages, pkg) {
				packages = append(packages, pkg)
			}
			continue
		}
		by := it.SetBy
		if it.SetBy == guide.Running {
			by = it.Why
		}
		list.Add(document.Block{Lines: []document.Line{{Text: valued(it), Note: by}}})
	}
	if lines == 0 {
		return []document.Section{list}
	}
	slices.Sort(packages)
	return []document.Section{list, document.Paragraph(fmt.Sprintf("not judged either: %d lines that came with packages (%s); --json has them", lines, strings.Join(packages, ", ")))}
}

func itemCard(it guide.Item) *document.Card {
	c := document.Card{Tag: string(it.Status), Title: valued(it), Text: it.Why}
	by, running := it.SetBy, ""
	if !it.InForce {
		by += "; shadowed"
	}
	switch it.Holds {
	case "no":
		running = it.Current + ", so something else set it since, or the line never took effect"
	case "yes":
		running = it.Current + ", as the line has it"
	}
	c.Pairs = []document.Pair{{Name: "set by", Value: by}, {Name: "without it", Value: it.RemovalRestores}, {Name: "running", Value: running},
		{Name: "not verified", Value: it.Unverified}, {Name: "source", Value: it.Source}}
	return &c
}
