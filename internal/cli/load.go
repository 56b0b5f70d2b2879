package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/load"
	"linerate/internal/report/document"
)

func loadCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Put a known load on a file, a device or a path and report rates, latencies and CPU",
		Long: `load runs one workload and reports its rates, latencies and CPU, with the doubts
about these figures: whether this program was the limiter, and how much came from
the page cache. It writes only to the target that you name.`,
		Example: `  linerate load list
  linerate load block /mnt/nas/testfile --workload dell-8k-random --seconds 30
  linerate load verify /mnt/nas/testfile`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	// A new family of loads is one file with a function like these and a line.
	cmd.AddCommand(loadTCPCommand(env), loadBlockCommand(env), loadVerifyCommand(env), loadFramesCommand(env), loadFileCommand(env),
		loadVdbenchCommand(env), loadIozoneCommand(env), loadFilebenchCommand(env), loadFioCommand(env), loadListCommand(env))
	return cmd
}

func loadListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the workloads that have a name, with their papers",
		Example: "  linerate load list\n  linerate load list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			all := load.Workloads()
			if env.json {
				return printJSON(env, list("workloads", all))
			}
			t := document.Table{Head: document.Columns("Workload", "Shape", "#In flight", "Source")}
			for _, n := range all {
				t.Row(n.Name, n.About, strconv.Itoa(n.Threads*n.Depth), n.Source)
			}
			return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
		},
	}
}

func workloadNames() []string {
	var names []string
	for _, n := range load.Workloads() {
		names = append(names, n.Name)
	}
	return names
}

// makeLoad makes a load, keeps and prints what it came to, and then says how it ended. A
// bundle that cannot be written does not hide the figures: they are printed, then the error.
func makeLoad(env *environment, command string, put func(app.Progress) (*load.Made, error)) error {
	return makeLoadWith(env, command, loadExtras{}, put)
}

// makeLoadWith is makeLoad with what else was asked of the load.
func makeLoadWith(env *environment, command string, x loadExtras, put func(app.Progress) (*load.Made, error)) error {
	p := newProgress(env)
	made, ran := put(&intervals{progress: p, every: x.every, json: env.json})
	p.End()
	ran = adviseStuck(ran)
	if made == nil {
		return ran
	}
	made.Require(x.checks)
	d, read := loadDocument(made.Value)
	d.Sections = append(d.Sections, saidSections(made.Value)...)
	var text strings.Builder
	if err := d.Text(&text, false, defaultWidth); err != nil {
		return errors.Join(err, ran)
	}
	report, kept := made.Keep(env.Env, command, text.String())
	if kept != nil {
		kept = fmt.Errorf("keep the load: %w", kept)
	}
	d.Sections, d.Saved = d.Sections[read:], report
	shown := printed(env, made.Value, nil, func() error { return printDocument(env, d) })
	if err := cmp.Or(shown, kept); err != nil {
		return errors.Join(err, ran)
	}
	if ran == nil {
		return unmet(made.Value)
	}
	return ran
}

// adviseStuck says what to do about a target that does not answer.
func adviseStuck(err error) error {
	var stuck *load.StuckError
	if !errors.As(err, &stuck) {
		return err
	}
	return fmt.Errorf("%w; see whether its server and the path to it are up (a hard NFS mount and an iSCSI disk wait for them, and the kernel may keep this program until they are back); what it had acknowledged is what load verify can find again", err)
}
