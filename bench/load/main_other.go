//go:build !linux

// Command load runs on Linux only: its peer is fio with io_uring.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench/load: it runs on Linux only, side by side with fio and io_uring")
	os.Exit(1)
}
