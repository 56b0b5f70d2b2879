// Command release makes what a release consists of, from the tree that it is started in: static
// binaries of each system, packages for Debian and Red Hat systems, the parts list, and the sums
// of all of them. The same commit gives the same bytes, wherever it is built: nothing of the
// clock or of a path enters, and every date is that of the commit.
//
//	cd tools && go run ./release -o ../dist
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// targets are the systems that linerate is built for.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"darwin", "arm64"}, {"darwin", "amd64"},
	{"freebsd", "amd64"}, {"illumos", "amd64"},
}

type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// release is one release being made.
type release struct {
	root    string // of the project
	out     string
	work    string    // what is not handed out
	version string    // as packages name it, without a v
	date    time.Time // of the commit
	made    []string  // files in out
}

func main() {
	out := flag.String("o", "../dist", "directory for what is made; it has to be empty or not there")
	only := flag.String("only", "", "this system alone, as linux/amd64")
	flag.Parse()
	if err := run(*out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out, only string) error {
	r, err := begin(out)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if err := r.pages(); err != nil {
		return err
	}
	for _, t := range chosen {
		if err := r.make(t); err != nil {
			return fmt.Errorf("make %s: %w", t, err)
		}
	}
	if err := r.container(); err != nil {
		return err
	}
	return r.sums()
}

func choose(only string) ([]target, error) {
	if only == "" {
		return targets, nil
	}
	for _, t := range targets {
		if t.String() == only {
			return []target{t}, nil
		}
	}
	return nil, fmt.Errorf("-only %s: not a system that linerate is built for (%v)", only, targets)
}

// begin finds the commit and makes the two directories.
func begin(out string) (*release, error) {
	r := &release{root: ".."}
	var err error
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, fmt.Errorf("find output directory: %w", err)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	there, err := os.ReadDir(r.out)
	if err != nil {
		return nil, fmt.Errorf("read output directory: %w", err)
	}
	if len(there) > 0 {
		return nil, fmt.Errorf("%s is not empty: it may hold another release; empty it, or name another with -o", r.out)
	}
	when, err := output(r.root, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(when), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read date of commit: %w", err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	r.work, err = os.MkdirTemp("", "linerate-release-")
	return r, err
}

// pages has the project write its manual pages and completions.
func (r *release) pages() error {
	_, err := output(r.root, nil, "go", "run", "-trimpath", "./release/man", r.work, strconv.FormatInt(r.date.Unix(), 10))
	return err
}

// programs are what a release brings for a system: linerate, and on Linux the broker of sites,
// which is a program of its own so that what is copied to hosts carries no server.
func programs(t target) []string {
	if t.os == "linux" {
		return []string{"linerate", broker}
	}
	return []string{"linerate"}
}

const broker = "linerate-broker"

// built is where a program of a system is built.
func (r *release) built(t target, program string) string {
	return filepath.Join(r.work, program+"-"+t.os+"-"+t.arch)
}

// build builds the programs of a system, and says how large each is.
func (r *release) build(t target) error {
	env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1"}
	for _, p := range programs(t) {
		at := r.built(t, p)
		argv := []string{"go", "run", "-trimpath", "./release/build", "-program", p, "-vcs", "-os", t.os, "-arch", t.arch, "-ldflags", "-s -w -buildid=", "-o", at}
		if _, err := output(r.root, env, argv...); err != nil {
			return err
		}
		i, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("look at what was built: %w", err)
		}
		fmt.Printf("%10d  %s of %s\n", i.Size(), p, t)
	}
	return nil
}

// make builds for one system, and makes all that is made of that.
func (r *release) make(t target) error {
	if err := r.build(t); err != nil {
		return err
	}
	binary := r.built(t, "linerate")
	version, err := r.versionOf(binary)
	if err != nil {
		return err
	}
	if r.version != "" && r.version != version {
		return fmt.Errorf("it is version %s, the one before was %s: did the tree change meanwhile?", version, r.version)
	}
	r.version = version
	if err := r.archive(t); err != nil {
		return err
	}
	for _, p := range programs(t) {
		if err := r.partsList(t, p); err != nil {
			return err
		}
	}
	if t.os != "linux" {
		return nil
	}
	for _, kind := range []string{"deb", "rpm"} {
		if err := r.pack(kind, t); err != nil {
			return fmt.Errorf("make %s: %w", kind, err)
		}
	}
	return nil
}
