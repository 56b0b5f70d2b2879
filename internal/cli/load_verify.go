package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"linerate/internal/app/load"
)

func loadVerifyCommand(env *environment) *cobra.Command {
	var o load.VerifyOptions
	cmd := &cobra.Command{
		Use:   "verify FILE|DEVICE",
		Short: "Prove that a target still holds what loads wrote to it",
		Long: `verify reads a file or device past the page cache and compares it, byte by byte,
with what the stamps in it say that runs of load block wrote: which run, which of
its writes, when. It names damaged data by offset, and data that landed somewhere
else. It writes nothing.

What a stamp cannot tell is that a later write is missing. With --journal, the
journal that the run kept of what the target acknowledged, lost, stale and torn
writes are found as well.`,
		Example: `  linerate load block /mnt/nas/testfile --read 50 --seconds 30 --journal run.journal
  linerate load verify /mnt/nas/testfile --journal run.journal
  linerate load verify /dev/sdx --area 100GiB --json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Path = args[0]
			p := newProgress(env)
			defer p.End()
			found, err := load.Verify(cmd.Context(), o, p)
			if found == nil {
				return adviseStuck(err)
			}
			return cmp.Or(printed(env, found, nil, func() error { return printDocument(env, verifyDocument(found)) }), err)
		},
	}
	cmd.Flags().StringVar(&o.Journal, "journal", "", "the journal that load block kept of the run")
	bytesFlag(cmd, &o.Area, "area", "part of the target that is looked at, from --from on; default all, or the journal's")
	bytesFlag(cmd, &o.From, "from", "where that part begins")
	stuckFlag(cmd, &o.Stuck)
	return completeFlags(cmd, nil)
}
