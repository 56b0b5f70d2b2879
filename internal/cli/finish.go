package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/app"
	"linerate/internal/report"
)

// asksHere tells whether somebody can be asked.
func asksHere(env *environment) bool {
	in, ok := env.in.(*os.File)
	if !ok || env.json {
		return false
	}
	tty, _ := isTerminal(in)
	return tty
}

// saysYes asks on stderr. The end of the input allows nothing.
func saysYes(env *environment, question string) bool {
	_ = env.err.Printf("%s [y/N] ", question) // unread, it is answered all the same
	answer, err := bufio.NewReader(env.in).ReadString('\n')
	return err == nil && strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}

// asTyped is a command in words that do the same again: its arguments, and the flags that were set, but
// for --json.
func asTyped(cmd *cobra.Command, args []string) string {
	words := []string{cmd.Name()}
	for _, a := range args {
		words = append(words, shellWord(a))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "json":
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name+"="+shellWord(f.Value.String()))
		}
	})
	return strings.Join(words, " ")
}

// shellWord is a text as one word of a shell.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:@,=+%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// conclude keeps the bundle of a pass that a command made, and prints its outcome. A
// report that cannot be written does not hide the verdict: it is printed, then the error.
func conclude(env *environment, command string, rec *app.Record) error {
	rec.Results.Command = command
	kept := app.Keep(env.Env, rec)
	var err error
	if env.json {
		err = printJSON(env, rec.Results.Outcome)
	} else {
		err = report.Text(env.out, &rec.Results, env.color, env.width)
	}
	if kept != nil {
		return fmt.Errorf("keep the run: %w", kept)
	}
	return err
}
