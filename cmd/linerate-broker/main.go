// Command linerate-broker is the NATS server of a site that has none. linerate serve --nats
// embedded starts it and tells it by its stdin what to do; it is a program of its own so that
// what is copied to hosts carries no server.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"linerate/internal/fleet/broker"
)

func main() {
	// A Ctrl-C is for linerate serve, which ends this by the pipe.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := broker.Main(ctx, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "linerate-broker:", err)
		os.Exit(1)
	}
}
