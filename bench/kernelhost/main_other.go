//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

func main() {
	fmt.Fprintf(os.Stderr, "kernelhost: boots Linux kernels as processes of a Linux host; unsupported on %s\n", runtime.GOOS)
	os.Exit(1)
}
