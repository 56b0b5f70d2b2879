// Command fuzz runs every fuzz target of the repository for a time, one after the other,
// and prints what each did: executions, executions per second, inputs that reached new
// code, and what it found. It runs in the root of the repository, and needs the go command.
//
// It keeps what is found below the package's testdata, as go test does, where the tests then
// run it for good. It does not judge a target beyond its rate: one that stays below 1000
// executions a second when it is tried again is marked, since it tests little in a night.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"linerate/internal/kernel"
)

// enough is the rate from which a target tests something, in executions per second.
const enough = 1000

// minimize bounds how long an input that reached new code is made smaller. The go command's own
// minute is longer than a target runs here, and executions for it are not counted: a target with
// large inputs would have made some dozens, and tested nothing.
const minimize = "200ms"

// target is one fuzz target: the package's folder and the function.
type target struct{ dir, name string }

// outcome is what go test said of a target.
type outcome struct {
	execs, fresh, known int64
	took                time.Duration
	failed              string // the last lines, where it found something or could not run
}

func main() {
	each := flag.Duration("for", 10*time.Second, "how long each target runs")
	only := flag.String("only", "", "run only targets whose folder and name match this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	found, err := run(ctx, *each, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
	if found > 0 {
		os.Exit(5)
	}
}

func run(ctx context.Context, each time.Duration, only string) (found int, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return 0, fmt.Errorf("read -only: %w", err)
	}
	all, err := targets(".")
	if err != nil {
		return 0, err
	}
	fmt.Printf("%-62s %12s %9s %6s %6s  %s\n", "TARGET", "EXECUTIONS", "PER S", "NEW", "CORPUS", "FOUND")
	for _, t := range all {
		name := t.dir + " " + t.name
		if !wanted.MatchString(name) {
			continue
		}
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		o, err := fuzz(ctx, t, each)
		if err == nil && o.failed == "" && o.rate() < enough { // the machine may have been busy
			first := o
			if o, err = fuzz(ctx, t, each); o.failed == "" && first.rate() > o.rate() {
				o = first
			}
		}
		if err != nil {
			return found, err
		}
		mark := "nothing"
		switch rate := o.rate(); {
		case o.failed != "":
			found++
			mark = o.failed
		case rate < enough:
			mark = fmt.Sprintf("nothing; fewer than %d a second", enough)
		}
		fmt.Printf("%-62s %12d %9.0f %6d %6d  %s\n", name, o.execs, o.rate(), o.fresh, o.known, mark)
	}
	return found, nil
}

func (o outcome) rate() float64 { return float64(o.execs) / max(o.took.Seconds(), 1e-3) }

// targets finds the functions that are fuzz targets, in order of their folders.
func targets(root string) (all []target, err error) {
	begins := regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9_]+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range begins.FindAllStringSubmatch(string(b), -1) {
			all = append(all, target{filepath.ToSlash(filepath.Dir(path)), m[1]})
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("find fuzz targets below %s: there are none; run this in the root of the repository", root)
	}
	return all, err
}

// fuzz runs one target.
func fuzz(ctx context.Context, t target, each time.Duration) (outcome, error) {
	cmd := kernel.Exec(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(),
		"-fuzzminimizetime", minimize, "./"+t.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return outcome{}, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return outcome{}, fmt.Errorf("run go test: %w", err)
	}
	var o outcome
	var last []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if !o.read(lines.Text()) {
			last = append(last, strings.TrimSpace(lines.Text()))
		}
	}
	said := strings.Join(last, "\n")
	// go test calls it a failure when a worker ends late (https://go.dev/issue/48591).
	late := strings.Contains(said, "context deadline exceeded") && !strings.Contains(said, "Failing input")
	if err := cmd.Wait(); err != nil && !late {
		o.failed = strings.Join(last[max(0, min(len(last), len(last)-8)):], " / ")
	}
	return o, lines.Err()
}

// read takes a line like "fuzz: elapsed: 9s, execs: 108035 (7625/sec), new interesting: 72
// (total: 161)"; false where it is another.
func (o *outcome) read(line string) bool {
	m := regexp.MustCompile(`^fuzz: elapsed: ([0-9hms]+), execs: ([0-9]+) .*new interesting: ([0-9]+) \(total: ([0-9]+)\)`).FindStringSubmatch(line)
	if m == nil {
		return strings.HasPrefix(line, "fuzz: ")
	}
	o.took, _ = time.ParseDuration(m[1]) // the pattern holds it to numbers
	o.execs, _ = strconv.ParseInt(m[2], 10, 64)
	o.fresh, _ = strconv.ParseInt(m[3], 10, 64)
	o.known, _ = strconv.ParseInt(m[4], 10, 64)
	return true
}
