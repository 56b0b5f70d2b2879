package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"linerate/internal/cli"
)

// asLinerate lets this program be the lab's own processes and the agents, as
// linerate itself is, so that what is judged is what was built. The judge's own
// arguments all begin with a dash.
func asLinerate() (code int, ok bool) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		return 0, false
	}
	if os.Args[1] == readRole {
		if err := readMain(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if os.Args[1] == meddleRole {
		if err := meddleMain(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}
	return cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr), true
}

func selfArgv() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own program: %w", err)
	}
	return []string{path}, nil
}

// buildName is the revision that the Go tool recorded. `go run` records none.
func buildName() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if revision == "" {
		return "not recorded (built by go run)"
	}
	return revision + dirty
}
