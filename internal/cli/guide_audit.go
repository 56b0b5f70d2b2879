package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/facts"
	"linerate/internal/guide"
	"linerate/internal/kernel"
	"linerate/internal/model"
)

func guideAuditCommand(env *environment) *cobra.Command {
	var root, release string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Find this host's inherited tuning and say what has become of it",
		Long: `audit reads the files in which a host keeps tuning: sysctl.conf and sysctl.d,
rc scripts, modprobe.d, udev rules, .link files, TuneD's active profile, units,
mounts, exports, Samba, kernel arguments, scripts of NIC drivers; of illumos
/etc/system and driver files. For each value it says who set it, what has
become of it, and what would hold without the line. It changes nothing. What
the guide does not know is listed and not judged.

The last line that sets a thing wins; the others are said to be shadowed.`,
		Example: "  linerate guide audit\n  linerate guide audit --root /mnt/recorded --kernel 6.18\n  linerate guide audit --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if release != "" {
				if _, err := guide.ParseRelease(release); err != nil {
					return exit(ExitUsage, "audit: %w", err)
				}
			}
			host, err := hostFiles(root, release)
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
	cmd.Flags().StringVar(&root, "root", "/", "directory that stands for /: a recorded tree")
	cmd.Flags().StringVar(&release, "kernel", "", "judge as if this kernel ran, e.g. 6.18")
	return cmd
}

// hostFiles reads a tree. Of one that runs, the system is this program's.
func hostFiles(root, release string) (model.HostFiles, error) {
	host, err := facts.ReadInherited(kernel.Root(root), knownSysctls())
	if errors.Is(err, fs.ErrNotExist) {
		return host, fmt.Errorf("audit %s: %w; name the directory that stands for / with --root", root, err)
	}
	if err != nil {
		return host, fmt.Errorf("audit %s: %w", root, err)
	}
	if root == "/" {
		host.OS = map[string]string{"darwin": "macos", "solaris": "illumos"}[runtime.GOOS]
		if host.OS == "" {
			host.OS = runtime.GOOS
		}
	}
	if release != "" {
		host.Kernel = release
		host.TCPNames = nil // they are another kernel's
	}
	return host, nil
}

// knownSysctls are the Linux sysctls that the guide has, by all dotted names.
func knownSysctls() []string {
	var out []string
	for _, s := range guide.All() {
		name, ok := strings.CutPrefix(s.ID, "linux.sysctl.")
		if !ok || strings.Contains(name, ".IF.") {
			continue
		}
		out = append(out, name)
		for _, other := range s.Names {
			if strings.Contains(other, ".") {
				out = append(out, other)
			}
		}
	}
	return out
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
	printNotKnown(out, r.Items)
	for _, file := range slices.Sorted(maps.Keys(r.Unread)) {
		fmt.Fprintf(out, "\nnot read: %s: %s\n", file, r.Unread[file])
	}
	if len(r.Items) == 0 {
		fmt.Fprint(out, "\nno inherited tuning: none of the files sets anything\n")
		return
	}
	fmt.Fprintf(out, "\n%s\n", countStatuses(count))
}

func printNotKnown(out io.Writer, items []guide.Item) {
	first := true
	for _, it := range items {
		if it.Status != guide.NotKnown {
			continue
		}
		if first {
			fmt.Fprint(out, "\nnot judged, most of it because the guide does not know it\n")
		}
		first = false
		fmt.Fprintf(out, "  %s = %s (%s)\n", it.Name, it.Value, it.SetBy)
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
	if it.Current != "" && it.InForce && it.Current != it.Value {
		paragraph(out, indent, "running: "+it.Current+", so something else set it since, or the line never took effect", width)
	}
	if it.Unverified != "" {
		paragraph(out, indent, "not verified: "+it.Unverified, width)
	}
	if it.Source != "" {
		paragraph(out, indent, "source: "+it.Source, width)
	}
}
