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
with what runs of load block wrote there: the stamps in the data name the run, the
write and its time. It reports the offsets of damaged data, and data that was written
to a wrong address. It writes nothing.

A stamp cannot show that a later write is missing. --journal names the journal in
which the run recorded what the target acknowledged; with it verify also finds lost,
stale and torn writes.`,
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
	bytesFlag(cmd, &o.Area, "area", "part of the target to check, from --from on; default: all of it, or what the journal covers")
	bytesFlag(cmd, &o.From, "from", "where that part begins")
	stuckFlag(cmd, &o.Stuck)
	return completeFlags(cmd, nil)
}
