// Command linerate finds what keeps networked storage and bulk transfer from
// running at line rate, changes the host reversibly, and proves the gain. All
// of it lives in internal; this file only hands over arguments and streams.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"linerate/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
