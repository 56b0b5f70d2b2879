//go:build !linux

// Command link measures the lab's links, which exist on Linux only.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench/link: labs are for Linux only")
	os.Exit(1)
}
