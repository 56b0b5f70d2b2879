//go:build !linux

package main

import (
	"errors"
	"io"
)

// readRole makes this program the application that reads.
const readRole = "judge-read"

func readMain([]string, io.Writer) error { return errors.New("read: labs are for Linux only") }
