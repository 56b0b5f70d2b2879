package cli

import (
	"fmt"

	"linerate/internal/app"
	"linerate/internal/loop"
	"linerate/internal/report"
)

// conclude keeps the bundle and prints the outcome. A report that cannot be
// written does not hide the verdict: it is printed, then the error.
func conclude(env *environment, rec *loop.Record) error {
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
