package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

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
