// Command fakehost is, under many names, the commands of another system (packages fake and
// winhost). A script calls hundreds of them: it is small, so that a call costs a millisecond.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"linerate/internal/systems/fake"
	"linerate/internal/systems/fake/winhost"
)

func main() {
	if filepath.Base(os.Args[0]) == "sudo" {
		os.Exit(sudo(os.Args[1:]))
	}
	if filepath.Base(os.Args[0]) == "sync" { // no power is lost here, and the machine's disks are others' too
		return
	}
	if fake.Is(os.Args[0]) {
		os.Exit(fake.Main(os.Args, os.Getenv, os.Stdout, os.Stderr))
	}
	os.Exit(winhost.Main(os.Args, os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// sudo is not installed, unless the host is set to "sudo=free", for a user who needs no password, or
// "sudo=asks", where -n ends it and without it nobody would ever answer. Each call is noted.
func sudo(args []string) int {
	set := os.Getenv(fake.Set)
	free := strings.Contains(set, "sudo=free")
	if !free && !strings.Contains(set, "sudo=asks") {
		fmt.Fprintln(os.Stderr, "sudo: not found")
		return 127
	}
	note, err := os.OpenFile(filepath.Join(os.Getenv(fake.State), "sudo.calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(note, strings.Join(args, " "))
	}
	if err != nil || len(args) < 2 || args[0] != "-n" {
		fmt.Fprintln(os.Stderr, "sudo: it asks for a password, and nobody answers:", err)
		return 99
	}
	if !free {
		fmt.Fprintln(os.Stderr, "sudo: a password is required")
		return 1
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Env = append(os.Environ(), fake.Set+"=uid=0;"+set) // the first of two counts
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "sudo:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}
