package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	appguide "linerate/internal/app/guide"
	"linerate/internal/failure"
	"linerate/internal/guide"
)

func guideAuditCommand(env *environment) *cobra.Command {
	var o appguide.Source
	cmd := &cobra.Command{
		Use:   "audit [HOST]",
		Short: "Find a host's inherited tuning and say what has become of it",
		Long: `audit reads the files in which a host keeps tuning: sysctl.conf and sysctl.d,
rc scripts, modprobe.d, udev rules, .link files, NetworkManager, netplan, TuneD's
active profile, units, mounts, exports, Samba, kernel arguments, scripts of NIC
drivers; of illumos /etc/system and driver files. For each value it says who set
it, what has become of it, whether it is in force now, and what would hold
without the line. It changes nothing. What the guide does not know is listed and
not judged.

HOST is this one, one that ssh reaches, or a host of the lab. Lines that set
nothing stay on the host; there is no way to have another file read.

The last line that sets a thing wins; the others are said to be shadowed.`,
		Example: `  linerate guide audit                        this host
  linerate guide audit nas1                   over ssh; as root it sees more
  linerate guide audit --kernel 6.18          what after an upgrade of the kernel?
  linerate guide audit --from /tmp/nas1       a recording of linerate check --snapshot
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
			printAudit(env.out, report, env.width)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Root, "root", "", "directory `DIR` that stands for /: a recorded tree")
	f.StringVar(&o.From, "from", "", "read the recording in folder `DIR` (linerate check --snapshot)")
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

func printAudit(out io.Writer, r guide.Report, width int) {
	switch {
	case r.Kernel != "":
		fmt.Fprintf(out, "system %s, kernel %s\n", r.OS, r.Kernel)
	case r.OS == "linux":
		fmt.Fprint(out, "system linux, kernel not known: defaults that depend on it are not compared; say --kernel\n")
	default:
		fmt.Fprintf(out, "system %s\n", r.OS)
	}
	count := map[guide.Status]int{}
	for _, it := range r.Items {
		count[it.Status]++
	}
	for _, status := range guide.Statuses() {
		if status == guide.NotKnown {
			continue
		}
		for _, it := range r.Items {
			if it.Status == status {
				printItem(out, it, width)
			}
		}
	}
	if n := len(r.Items); n > 0 && count[guide.NotKnown] == n {
		fmt.Fprint(out, "\nnothing inherited that the guide has an opinion on\n")
	}
	printNotKnown(out, r.Items, width)
	if r.Owners != "" {
		fmt.Fprintln(out)
		paragraph(out, "", "owners of files: "+r.Owners, width)
	}
	for _, file := range slices.Sorted(maps.Keys(r.Unread)) {
		fmt.Fprintf(out, "\nnot read: %s: %s\n", file, r.Unread[file])
	}
	if len(r.Items) == 0 {
		fmt.Fprint(out, "\nno inherited tuning: none of the files sets anything\n")
		return
	}
	fmt.Fprintf(out, "\n%s\n", countStatuses(count))
}

// printNotKnown lists what is not judged. What packages bring and the guide
// does not know is the distribution's own, and told in one line.
func printNotKnown(out io.Writer, items []guide.Item, width int) {
	var packages []string
	first, lines := true, 0
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
		if first {
			fmt.Fprint(out, "\nnot judged, most of it because the guide does not know it\n")
		}
		first = false
		fmt.Fprintf(out, "  %s = %s (%s)\n", it.Name, it.Value, it.SetBy)
	}
	if lines > 0 {
		slices.Sort(packages)
		fmt.Fprintln(out)
		paragraph(out, "", fmt.Sprintf("not judged either: %d lines that came with packages (%s); --json has them", lines, strings.Join(packages, ", ")), width)
	}
}

func printItem(out io.Writer, it guide.Item, width int) {
	const indent = "            "
	device := ""
	if it.Device != "" {
		device = " (" + it.Device + ")"
	}
	fmt.Fprintf(out, "\n%-10s  %s = %s%s\n", it.Status, it.Name, it.Value, device)
	paragraph(out, indent, it.Why, width)
	force := ""
	if !it.InForce {
		force = "; shadowed"
	}
	paragraph(out, indent, "set by: "+it.SetBy+force, width)
	paragraph(out, indent, "without it: "+it.RemovalRestores, width)
	switch it.Holds {
	case "no":
		paragraph(out, indent, "running: "+it.Current+", so something else set it since, or the line never took effect", width)
	case "yes":
		paragraph(out, indent, "running: "+it.Current+", as the line has it", width)
	}
	if it.Unverified != "" {
		paragraph(out, indent, "not verified: "+it.Unverified, width)
	}
	if it.Source != "" {
		paragraph(out, indent, "source: "+it.Source, width)
	}
}
