// Command linerate-agent is what linerate sends to hosts: the roles that it plays there, without
// the commands. It is carried in linerate itself, and nobody starts it by hand.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"linerate/internal/host/role"
)

func main() {
	// As in linerate: what reaches the process group ends no role.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	e := role.Env{Build: role.VersionOfThis().String(), Now: time.Now, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	self, err := os.Executable()
	e.Self = []string{self}
	if args := os.Args[1:]; err == nil && len(args) > 0 {
		if work, ok := role.Table(e)[args[0]]; ok {
			code := role.Run(ctx, e, args[0], work, args[1:])
			stop()
			os.Exit(code)
		}
	}
	fmt.Fprintln(os.Stderr, "linerate: this is the part that linerate sends to hosts, and has no commands")
	os.Exit(1)
}
