//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

// readRole makes this program the application that reads.
const readRole = "judge-read"

// meddleRole makes this program one that meddles with the application of a host.
const meddleRole = "judge-meddle"

func meddleMain(context.Context, []string) error {
	return errors.New("meddle: labs are for Linux only")
}

func readMain([]string, io.Writer) error { return errors.New("read: labs are for Linux only") }
