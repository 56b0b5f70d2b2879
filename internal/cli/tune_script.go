package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"linerate/internal/app/tune"
	"linerate/internal/failure"
)

func tuneScriptCommand(env *environment) *cobra.Command {
	var o tuneOptions
	var out string
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
leaves alone what somebody else changed since. tune apply HOST runs this very script.

--output FILE writes it into a new file, and beside it undo.sh or undo.ps1, which only undoes
and needs no other file. You alone may read them, and no file is replaced.`,
		Example: `  linerate tune script omnios --profile zfs-filer --rtt 1ms > change.sh
  linerate tune script omnios --set illumos.ipadm.tcp.send_buf=1048576 > change.sh
  linerate tune script winfiler --set windows.adapter.jumbo@SAN1=9014 -o apply.ps1   and undo.ps1`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(env, args); err != nil {
				return err
			}
			p := newProgress(env)
			defer p.End()
			doc, err := tune.WriteScript(cmd.Context(), env.Env, o.Request, out, p)
			if err == nil && doc.Script == "" {
				err = failure.Of(failure.Nothing, "there is nothing to change on %s: linerate tune plan%s says why", o.Host, hostArgument(o.Host))
			}
			return printed(env, doc, err, func() error { return writeScript(env, doc) })
		},
	}
	o.subjectFlags(cmd.Flags())
	o.setFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.Persist, "persist", false, "write the values into the files too that the host reads when it starts")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write it into the new `FILE`, and undo.sh or undo.ps1 beside it")
	return cmd
}

// writeScript prints the script, or how those that were saved are run.
func writeScript(env *environment, w tune.Written) error {
	if len(w.Saved) == 0 {
		_, err := env.out.Write([]byte(w.Script))
		return err
	}
	as, shell := "root", "sh "
	if w.PowerShell() {
		as, shell = "an administrator", "powershell -ExecutionPolicy Bypass -File "
	}
	file, undo := filepath.Base(w.Saved[0]), filepath.Base(w.Saved[1])
	return env.out.Printf("%s: the plan; %s undoes it, also without the other file.\nRead them, copy them to the host, and there, as %s:\n  %s%s status\n  %[4]s%[5]s apply\n  %[4]s%[6]s\n",
		w.Saved[0], w.Saved[1], as, shell, file, undo)
}
