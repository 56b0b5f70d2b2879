// Command fakehost is, under many names, the commands of another system (packages fake and
// winhost). A script calls hundreds of them: it is small, so that a call costs a millisecond.
package main

import (
	"os"
	"path/filepath"

	"linerate/internal/systems/fake"
	"linerate/internal/systems/fake/winhost"
)

func main() {
	if filepath.Base(os.Args[0]) == "sync" { // no power is lost here, and the machine's disks are others' too
		return
	}
	if fake.Is(os.Args[0]) {
		os.Exit(fake.Main(os.Args, os.Getenv, os.Stdout, os.Stderr))
	}
	os.Exit(winhost.Main(os.Args, os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
