package cli

import (
	"github.com/spf13/cobra"

	"linerate/internal/app/tune"
	"linerate/internal/failure"
)

func tuneScriptCommand(env *environment) *cobra.Command {
	var o tuneOptions
	cmd := &cobra.Command{
		Use:   "script [HOST]",
		Short: "Write a plan as a script for a host that is not Linux, to read and run by hand; changes nothing",
		Long: `script makes the plan that tune plan shows, for a host that is read by its own
commands (illumos, FreeBSD, macOS, OneFS, Windows; docs/systems.md), over ssh or by
linerate there, and prints it as one script in the host's shell. It applies, confirms, undoes and tells:

  sh change.sh status          what runs, and what this plan changed
  sh change.sh apply           all of it or nothing
  sh change.sh apply 5         undone by itself after 5 minutes, unless confirmed
  sh change.sh confirm
  sh change.sh undo

and of Windows, as an administrator:

  powershell -ExecutionPolicy Bypass -File change.ps1 apply

Before it changes anything it compares every value with what the plan was made for;
it keeps a record on the host before each write and reads back what it wrote. undo
leaves alone what somebody else changed since. tune apply HOST runs this very script.`,
		Example: `  linerate tune script omnios --profile zfs-filer --rtt 1ms > change.sh
  linerate tune script omnios --set illumos.ipadm.tcp.send_buf=1048576 > change.sh
  linerate tune script winfiler --set windows.adapter.jumbo@SAN1=9014 > change.ps1`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(env, args); err != nil {
				return err
			}
			p := newProgress(env)
			defer p.End()
			doc, err := tune.WriteScript(cmd.Context(), env.Env, o.Request, p)
			if err == nil && doc.Script == "" {
				err = failure.Of(failure.Nothing, "there is nothing to change on %s: linerate tune plan%s says why", o.Host, hostArgument(o.Host))
			}
			return printed(env, doc, err, func() error { return writeScript(env, doc.Script) })
		},
	}
	o.subjectFlags(cmd.Flags())
	o.setFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.Persist, "persist", false, "write the values into the files too that the host reads when it starts")
	return cmd
}

func writeScript(env *environment, text string) error {
	_, err := env.out.Write([]byte(text))
	return err
}
