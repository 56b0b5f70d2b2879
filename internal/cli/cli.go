// Package cli turns arguments into calls of the rooms before it, one file per
// subcommand: it reads flags, asks the user, calls one package of app, prints what that
// returns, and maps errors to exit codes. It refuses to reach hosts, measure, judge or
// change anything itself.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/roles"
	"linerate/internal/failure"
	"linerate/internal/reach"
	"linerate/internal/report/document"
)

// Exit codes, documented in docs/exit-codes.md.
const (
	ExitOK          = 0
	ExitFailed      = 1   // something went wrong; everything was put back
	ExitUsage       = 2   // the command line could not be understood
	ExitNothing     = 3   // there was nothing to judge: an idle or local mount, no such published result
	ExitNotRestored = 4   // a change could not be put back: read the message
	ExitFound       = 5   // check --fail-on: there is such a finding
	ExitLossy       = 6   // copy: done, but something could not be kept, or a file failed
	ExitInterrupted = 130 // Ctrl-C; the command left nothing changed
)

// environment is what a command may use of the process: streams, variables
// and the clock.
type environment struct {
	app.Env
	in    io.Reader
	out   *document.Screen
	err   *document.Screen
	json  bool
	color bool
	width int
}

// codeOf is the exit code of a kind in which work ended without its result.
func codeOf(k failure.Kind) int {
	switch k {
	case failure.Usage:
		return ExitUsage
	case failure.Nothing:
		return ExitNothing
	case failure.NotRestored:
		return ExitNotRestored
	case failure.Found:
		return ExitFound
	case failure.Interrupted:
		return ExitInterrupted
	case failure.Lossy:
		return ExitLossy
	}
	return ExitFailed
}

// childError is a program that was run for the user and has said what was wrong.
type childError struct{ code int }

func (e *childError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// Run executes one command line and returns the exit code. Errors are printed
// to stderr as one line that begins with "linerate: ".
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return RunOn(ctx, reach.ThisHost{}, args, stdin, stdout, stderr)
}

// RunOn is Run where local stands for this host's system and shell, such as a fake's in tests.
func RunOn(ctx context.Context, local reach.ThisHost, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	self, err := os.Executable()
	if err != nil && !roles.Nameless(args) {
		fmt.Fprintf(stderr, "linerate: find own binary: %v; see that /proc is mounted and readable\n", err)
		return ExitFailed
	}
	sites := &reach.Sites{}
	defer sites.Close()
	env := &environment{
		Env: app.Env{Self: []string{self}, Build: roles.Version().String(), Getenv: os.Getenv, Now: time.Now, Sites: sites, Local: local},
		in:  stdin, out: document.NewScreen(stdout), err: document.NewScreen(stderr),
	}
	env.color, env.width = terminal(stdout, env.Getenv)
	if code, ok := roles.Run(ctx, env.Env, args, stdin, stdout, stderr); ok {
		return code
	}
	root := rootCommand(env)
	root.SetArgs(args)
	return exitCode(ctx, env, root.ExecuteContext(ctx))
}

// Commands is the tree of commands as linerate has it, for manual pages and completions. It is
// not to be executed.
func Commands() *cobra.Command {
	silent := document.NewScreen(io.Discard)
	root := rootCommand(&environment{
		Env: app.Env{Build: roles.Version().String(), Getenv: func(string) string { return "" }, Now: time.Now},
		out: silent, err: silent,
	})
	root.InitDefaultCompletionCmd()
	return root
}

// exitCode prints err and chooses the exit code.
func exitCode(ctx context.Context, env *environment, err error) int {
	if err == nil {
		return ExitOK
	}
	var child *childError
	if errors.As(err, &child) {
		return child.code
	}
	code := codeOf(failure.KindOf(err))
	if ctx.Err() != nil && code == ExitFailed {
		env.err.Printf("linerate: interrupted; this command left nothing changed (%v)\n", stepsAfter(failure.FirstLine(err), err))
		return ExitInterrupted
	}
	fmt.Fprintln(env.err, "linerate: "+ownLines(withSteps(err)))
	return code
}

// ownLines indents the second and later lines of a text: what a host says in an error
// cannot begin a line as linerate does.
func ownLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if i > 0 && l != "" && !strings.HasPrefix(l, "  ") {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

func rootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "linerate",
		Short: "Find what keeps networked storage from running at line rate, fix it reversibly, prove the gain",
		Long: `linerate finds what keeps networked storage and bulk transfer (NFS, SMB,
iSCSI, plain TCP) from running at line rate, changes the host reversibly, and
proves the gain.

Start with one of these:
  linerate demo                  the whole loop on two emulated hosts, in a minute
  linerate check                 what is wrong with this host
  linerate explain /mnt/nas      watch a slow mount while you copy a file`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(env.in)
	root.SetOut(env.out)
	root.SetErr(env.err)
	root.PersistentFlags().BoolVar(&env.json, "json", false, "print one JSON document (schemas: docs/json.md)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return failure.As(failure.Usage, flagError(cmd, err)) })
	root.Version = roles.Version().String()
	root.SetVersionTemplate("{{.Version}}\n")
	// A new subcommand is one file with a function like these and one line here.
	root.AddCommand(
		demoCommand(env),
		explainCommand(env),
		watchCommand(env),
		serveCommand(env),
		fixCommand(env),
		studyCommand(env),
		checkCommand(env),
		copyCommand(env),
		labCommand(env),
		loadCommand(env),
		sizeCommand(env),
		runsCommand(env),
		reportCommand(env),
		compareCommand(env),
		guideCommand(env),
		settingCommand(env),
		tuneCommand(env),
		profileCommand(env),
		leaveCommand(env),
		agentCommand(env),
		publishedCommand(env),
		versionCommand(env),
	)
	refuseElsewhere(env, root)
	complete(env, root)
	refuseUnknown(root)
	return root
}

// refuseUnknown makes cobra's own commands refuse what they do not know: they would print a help
// text, which a redirection takes for a script, and end well.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = usage(cobra.NoArgs)
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Args = usage(cobra.NoArgs)
			}
		case "help":
			cmd.Args = func(_ *cobra.Command, topic []string) error {
				found, rest, err := root.Find(topic)
				if err == nil && len(rest) > 0 {
					err = usage(cobra.NoArgs)(found, rest)
				}
				return err
			}
		}
	}
}

// usage makes an argument check fail with ExitUsage.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			if cmd.HasSubCommands() && len(args) > 0 {
				return failure.Of(failure.Usage, "unknown command %q for %q%s; see %s --help", args[0], cmd.CommandPath(), likeCommand(cmd, args[0]), cmd.CommandPath())
			}
			text := err.Error()
			if strings.Contains(text, "arg(s)") { // cobra's count of arguments, of which its error has no kind
				text = wanted(cmd, args)
			}
			return failure.Of(failure.Usage, "%s; see %s --help", text, cmd.CommandPath())
		}
		return nil
	}
}

// maxShown is how many arguments a message repeats.
const maxShown = 10

// wanted says what a command takes, to who gave it another number of arguments.
func wanted(cmd *cobra.Command, args []string) string {
	_, want, some := strings.Cut(cmd.Use, " ")
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	switch {
	case !some:
		return fmt.Sprintf("%s takes no arguments: what is %q?", name, args[0])
	case len(args) == 0:
		return fmt.Sprintf("%s takes %s, and nothing was given", name, want)
	case len(args) > maxShown:
		return fmt.Sprintf("%s takes %s, and %d were given, which are too many", name, want, len(args))
	}
	return fmt.Sprintf("%s takes %s, and what was given is %q", name, want, strings.Join(args, " "))
}
