package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// auditOptions is what was typed after guide audit.
type auditOptions struct{ host, root, from, release string }

func guideAuditCommand(env *environment) *cobra.Command {
	var o auditOptions
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
				o.host = args[0]
			}
			if err := o.check(); err != nil {
				return err
			}
			host, err := o.files(cmd.Context(), env)
			if err != nil {
				return err
			}
			report := guide.Audit(host)
			if env.json {
				return printJSON(env, report)
			}
			printAudit(env.out, report, env.width)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.root, "root", "", "directory `DIR` that stands for /: a recorded tree")
	f.StringVar(&o.from, "from", "", "read the recording in folder `DIR` (linerate check --snapshot)")
	f.StringVar(&o.release, "kernel", "", "judge as if this kernel ran, e.g. 6.18")
	return cmd
}

// check validates what was typed.
func (o auditOptions) check() error {
	if o.release != "" {
		if _, err := guide.ParseRelease(o.release); err != nil {
			return failure.Of(failure.Usage, "audit: %w", err)
		}
	}
	n := 0
	for _, from := range []string{o.host, o.root, o.from} {
		if from != "" {
			n++
		}
	}
	if n > 1 {
		return failure.Of(failure.Usage, "audit either a HOST, --from or --root, not more than one of them")
	}
	return nil
}

// files reads the host's files from where they are.
func (o auditOptions) files(ctx context.Context, env *environment) (model.HostFiles, error) {
	var h model.HostFiles
	var err error
	switch {
	case o.from != "":
		h, err = recordedFiles(o.from)
	case o.root != "":
		h, err = facts.ReadInherited(kernel.Root(o.root), guide.Sysctls(), guide.Parameters())
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("audit %s: %w; name the directory that stands for / with --root", o.root, err)
		} else if err != nil {
			err = fmt.Errorf("audit %s: %w", o.root, err)
		}
	case o.host != "" && o.host != reach.Here:
		h, err = filesOf(ctx, env, o.host)
	default:
		h, err = filesHere(ctx)
	}
	if o.release != "" {
		h.Kernel = o.release
		h.TCPNames = nil // they are another kernel's
	}
	return h, err
}

// filesHere reads this host's.
func filesHere(ctx context.Context) (model.HostFiles, error) {
	h, err := facts.ReadHostFiles(ctx, kernel.Live{}, guide.Sysctls(), guide.Parameters())
	if err != nil {
		return h, fmt.Errorf("audit this host: %w", err)
	}
	return h, nil
}

// filesOf asks the agent of another host.
func filesOf(ctx context.Context, env *environment, name string) (h model.HostFiles, err error) {
	n, err := host.ParseName(name)
	if err != nil {
		return h, err
	}
	if n.Path != "" {
		return h, failure.Of(failure.Usage, "audit %s: name a host without a path (nas1, user@nas1, lab:client1); for a tree of files there is --root", name)
	}
	p := newProgress(env)
	defer p.End()
	ctx, cancel := context.WithTimeout(ctx, reach.Within)
	defer cancel()
	a, err := env.Reach(p).Dial(ctx, n)
	if err != nil {
		return h, err
	}
	h, err = a.Files(ctx)
	return h, errors.Join(err, a.Close())
}

// recordedFiles takes the files out of a snapshot.
func recordedFiles(dir string) (model.HostFiles, error) {
	rec, err := snapshot.Load(filepath.Join(dir, snapshot.FileName))
	if rec == nil {
		return model.HostFiles{}, err
	}
	h, missing := rec.HostFiles()
	switch {
	case missing == nil && err == nil:
		return h, nil
	case missing == nil: // cut short behind them
		h.Unread = maps.Clone(h.Unread)
		if h.Unread == nil {
			h.Unread = map[string]string{}
		}
		h.Unread[dir] = err.Error()
		return h, nil
	case errors.Is(missing, fs.ErrNotExist):
		return h, errors.Join(fmt.Errorf("audit %s: this recording has no files of settings; record the host again with linerate check --snapshot", dir), err)
	}
	return h, fmt.Errorf("audit %s: %w", dir, missing)
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
