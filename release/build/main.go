// Command build builds linerate with the program that it sends to hosts in it: a third of its own
// size, so that a start on another host costs less. go build ./cmd/linerate alone makes a linerate
// that sends itself.
//
//	go run ./release/build -o linerate
//	go run ./release/build -os linux -arch arm64 -ldflags '-s -w' -o linerate
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"linerate/internal/reach/carried"
)

func main() {
	b := build{}
	flag.StringVar(&b.name, "program", "linerate", "or linerate-broker, which sends itself nowhere")
	flag.StringVar(&b.os, "os", runtime.GOOS, "the system that it is for")
	flag.StringVar(&b.arch, "arch", runtime.GOARCH, "the machine that it is for")
	flag.StringVar(&b.ldflags, "ldflags", "-s -w", "of the linker")
	flag.StringVar(&b.out, "o", "linerate", "the file that is made")
	flag.BoolVar(&b.vcs, "vcs", false, "fail where the version is not known")
	flag.Parse()
	if err := b.all(); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// build is what is built, and for what.
type build struct {
	name, os, arch, ldflags, out string
	vcs                          bool
}

// all builds the program for hosts, and linerate with that in the place of an empty file.
func (b build) all() (err error) {
	dir, err := os.MkdirTemp("", "linerate-build-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if b.os != "linux" || b.name != "linerate" { // agents run on Linux alone
		return b.program(b.name, b.out, "")
	}
	agent, packed, overlay := filepath.Join(dir, "agent"), filepath.Join(dir, "packed"), filepath.Join(dir, "overlay.json")
	if err := b.program("linerate-agent", agent, ""); err != nil {
		return err
	}
	program, err := os.ReadFile(agent)
	if err != nil {
		return fmt.Errorf("read what was built: %w", err)
	}
	z, err := carried.Pack(program)
	if err != nil {
		return err
	}
	place, err := exec.Command("go", "list", "-f", "{{.Dir}}", "linerate/internal/reach/carried").Output()
	if err != nil {
		return fmt.Errorf("find the tree: %w", err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(strings.TrimSpace(string(place)), "program"): packed}})
	if err != nil {
		return fmt.Errorf("write what lies where: %w", err)
	}
	if err := errors.Join(os.WriteFile(packed, z, 0o644), os.WriteFile(overlay, text, 0o644)); err != nil {
		return err
	}
	return b.program(b.name, b.out, overlay)
}

// program builds one program; overlay says what lies in the tree besides its files.
func (b build) program(name, out, overlay string) error {
	args := []string{"build", "-trimpath", "-ldflags=" + b.ldflags, "-o", out}
	if b.vcs {
		args = append(args, "-buildvcs=true")
	}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "linerate/cmd/"+name)...)
	cmd.Env = append(os.Environ(), "GOOS="+b.os, "GOARCH="+b.arch, "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s for %s/%s: %w", name, b.os, b.arch, err)
	}
	return nil
}
