// Command fakehost is, under many names, what a script calls in tests: the commands of another
// system (package fake), and those that change files, which it counts and then has the real ones
// do. It kills everything at one of them. It is small, so that a call costs a millisecond.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"linerate/internal/systems/fake"
)

// Variables of its environment, as the tests name them.
const (
	countFile = "SCRIPT_TEST_COUNT"
	killAt    = "SCRIPT_TEST_KILL_AT"
	valuesDir = "SCRIPT_TEST_VALUES"
	failSet   = "SCRIPT_TEST_FAIL"
	realPath  = "/usr/bin:/bin"
)

func main() {
	file := os.Getenv(countFile)
	b, _ := os.ReadFile(file) // not there before the first call
	n, _ := strconv.Atoi(string(b))
	n++
	if err := os.WriteFile(file, []byte(strconv.Itoa(n)), 0o600); err != nil {
		os.Exit(99)
	}
	at, _ := strconv.Atoi(os.Getenv(killAt))
	if at == n { // before it did anything
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
	code := work(filepath.Base(os.Args[0]), os.Args[1:], at == -n)
	if at == -n { // after it did all
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
	os.Exit(code)
}

// work does what a name means; stay: it returns.
func work(name string, args []string, stay bool) int {
	switch {
	case fake.Is(name) && os.Getenv(fake.OS) != "":
		return fake.Main(append([]string{name}, args...), os.Getenv, os.Stdout, os.Stderr)
	case name == "sync": // no power is lost here, and the machine's disks are others' too
		return 0
	case name == "value":
		return value(args)
	}
	for _, dir := range strings.Split(realPath, ":") {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if !stay {
			fmt.Fprintln(os.Stderr, syscall.Exec(path, append([]string{name}, args...), os.Environ()))
			return 98
		}
		cmd := exec.Command(path, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return 1
		}
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: not found\n", name)
	return 127
}

// value is a setting: "value get NAME", "value set NAME TO".
func value(args []string) int {
	path := filepath.Join(os.Getenv(valuesDir), args[1])
	if args[0] == "get" {
		b, err := os.ReadFile(path)
		fmt.Println(string(b))
		if err != nil {
			return 1
		}
		return 0
	}
	to := args[2]
	// "failing:NAME" is one that cannot be put back; the others refuse or change what a plan wants.
	how := func(what string) bool {
		return slices.Contains(strings.Split(os.Getenv(failSet), ","), what+":"+args[1])
	}
	switch {
	case how("refuse") && to != "1", how("failing") && to == "1":
		fmt.Fprintln(os.Stderr, "value out of range")
		return 1
	case how("ignore"):
		return 0
	case how("round") && to != "1":
		to = "64"
	}
	if err := os.WriteFile(path, []byte(to), 0o600); err != nil {
		return 1
	}
	return 0
}
