// Command demo runs `linerate demo` many times for each fault and prints how
// often the limiter was named right, with the 95% Wilson interval. It is the
// measure of the loop's honesty, not of its speed. It only starts the program
// and reads what it prints; it knows nothing of how a limiter is found.
//
//	go run ./bench/demo -n 20            verdicts only (about 12 s a run)
//	go run ./bench/demo -n 1 -proof      the whole loop, once per fault
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
	"linerate/bench/steal"
	"linerate/internal/lab"
	"linerate/internal/model"
	"linerate/internal/stat"
)

type options struct {
	n      int
	faults string
	proof  bool
	uid    int
	retry  int
	binary string
	keep   string
}

type tally struct {
	fault    string
	want     model.LimiterID
	right    int
	runs     int
	named    map[model.LimiterID]int
	problems []string
	seconds  []float64
	ratios   []string
	// spoiled are runs during which the hypervisor took the CPU: what was
	// named then is told, and counts neither for nor against.
	spoiled map[model.LimiterID]int
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 20, "runs of each fault")
	flag.StringVar(&o.faults, "faults", "", "comma-separated fault ids; empty is all")
	flag.BoolVar(&o.proof, "proof", false, "run the whole loop with its proof, not just to the verdict")
	flag.IntVar(&o.uid, "uid", 0, "run as this user id (needs root); 0 is whoever runs the bench")
	flag.IntVar(&o.retry, "retry", 0, "a wrong run may be repeated so many times (for CI on noisy machines; printed)")
	flag.StringVar(&o.binary, "binary", "", "linerate binary; empty builds one")
	flag.StringVar(&o.keep, "keep", "", "folder that keeps the bundles of the runs that were not right")
	flag.Parse()
	kit.Main("demo", func(ctx context.Context) error { return run(ctx, o, os.Stdout) })
}

func run(ctx context.Context, o options, w io.Writer) error {
	dir, err := os.MkdirTemp("", "linerate-bench-")
	if err != nil {
		return fmt.Errorf("make a place for the binary: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if o.binary == "" {
		if o.binary, err = kit.Build(ctx, dir); err != nil {
			return err
		}
	}
	var tallies []*tally
	for _, f := range chosen(o.faults) {
		tallies = append(tallies, &tally{fault: f.ID, want: f.Limiter, named: map[model.LimiterID]int{}, spoiled: map[model.LimiterID]int{}})
	}
	// Round by round, so that the machine's drift falls on every fault alike.
	for i := 0; i < o.n && ctx.Err() == nil; i++ {
		for _, t := range tallies {
			if !t.attempt(ctx, o, dir, w) {
				return errors.Join(print(w, tallies), context.Cause(ctx))
			}
		}
	}
	return print(w, tallies)
}

// moreTries is how often a run that the hypervisor spoiled is made again.
const moreTries = 2

// attempt makes one run of the fault and enters it. It is false when the user
// has had enough.
func (t *tally) attempt(ctx context.Context, o options, dir string, w io.Writer) bool {
	var r outcome
	for try := 0; try <= moreTries+o.retry; try++ {
		before := steal.Now()
		r = once(ctx, o, dir, t)
		if ctx.Err() != nil {
			return false
		}
		if stolen := steal.Now().Since(before); stolen >= steal.Spoiled && r.err == nil {
			t.spoiled[r.named]++
			fmt.Fprintf(w, "%s: not counted (%s named): the hypervisor took %.0f%% of this machine's CPU\n", t.fault, r.named, 100*stolen)
			r.skip = true
			continue
		}
		if r.right || try >= o.retry {
			break
		}
		fmt.Fprintf(w, "%s: not right (%s named), run again (%d of %d) %v\n", t.fault, r.named, try+1, o.retry, r.err)
	}
	t.enter(r)
	return true
}

// enter counts a run.
func (t *tally) enter(r outcome) {
	if r.skip {
		return
	}
	t.runs++
	t.seconds = append(t.seconds, r.took.Seconds())
	if r.err != nil {
		t.problems = append(t.problems, r.err.Error())
		return
	}
	t.named[r.named]++
	if r.right {
		t.right++
	}
	if r.ratio != "" {
		t.ratios = append(t.ratios, r.ratio)
	}
}

// outcome is what one run came to.
type outcome struct {
	named model.LimiterID
	right bool
	skip  bool
	ratio string
	took  time.Duration
	err   error
}

func chosen(ids string) []lab.Fault {
	var out []lab.Fault
	for _, f := range lab.Faults() {
		if ids == "" || strings.Contains(","+ids+",", ","+f.ID+",") {
			out = append(out, f)
		}
	}
	return out
}

// once runs one demo.
func once(ctx context.Context, o options, dir string, t *tally) (r outcome) {
	args := []string{"demo", "--json", "--fault", t.fault}
	if !o.proof {
		args = append(args, "--no-proof")
	}
	home, err := os.MkdirTemp(dir, "home-")
	if err != nil {
		return outcome{err: err}
	}
	defer os.RemoveAll(home)
	started := time.Now()
	out, err := demo(ctx, o, home, args)
	r.took = time.Since(started)
	if err != nil {
		r.err = err
		return r
	}
	r.named, r.right, r.ratio = out.Verdict.Limiter, out.Verdict.Limiter == t.want && out.Restored, ratio(out.Proof)
	if !out.Restored {
		r.err = errors.New("not restored")
	}
	if !r.right {
		r.err = errors.Join(r.err, keepRun(o.keep, home))
	}
	return r
}

func ratio(p *model.Proof) string {
	switch {
	case p == nil:
		return ""
	case p.Ratio == nil:
		return fmt.Sprintf("from nothing, p %.4f", p.P)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f] A/A %s", *p.Ratio, deref(p.CILow), deref(p.CIHigh), optional(p.AARatio))
}

// keepRun moves what a run wrote to the folder asked for, so that a wrong
// verdict can be looked at.
func keepRun(keep, home string) error {
	if keep == "" {
		return nil
	}
	runs, err := filepath.Glob(filepath.Join(home, "linerate", "runs", "*"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	for _, r := range runs {
		if err := os.CopyFS(filepath.Join(keep, filepath.Base(r)), os.DirFS(r)); err != nil {
			return fmt.Errorf("keep run: %w", err)
		}
	}
	return nil
}

func demo(ctx context.Context, o options, home string, args []string) (*model.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.binary, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 15 * time.Second
	if o.uid != 0 {
		if err := os.Chown(home, o.uid, o.uid); err != nil {
			return nil, err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.uid)}}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	out := new(model.Outcome)
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		return nil, fmt.Errorf("decode output: %w", err)
	}
	return out, nil
}

func print(w io.Writer, tallies []*tally) error {
	fmt.Fprintf(w, "\n| fault | limiter | named right | 95%% interval | median s | otherwise named | not counted | proof |\n|---|---|---|---|---|---|---|---|\n")
	var right, runs, problems int
	for _, t := range tallies {
		lo, hi := wilson(t.right, t.runs)
		proof := "–"
		if len(t.ratios) > 0 {
			proof = strings.Join(t.ratios, "; ")
		}
		fmt.Fprintf(w, "| %s | %s | %d/%d | %.2f-%.2f | %.1f | %s | %s | %s |\n", t.fault, t.want, t.right, t.runs, lo, hi, stat.Median(t.seconds), others(t.named, t.want), others(t.spoiled, ""), proof)
		right, runs, problems = right+t.right, runs+t.runs, problems+len(t.problems)
	}
	for _, t := range tallies {
		for _, p := range t.problems {
			fmt.Fprintf(w, "%s: %s\n", t.fault, p)
		}
	}
	// A busy machine spoils single verdicts; it does not spoil most of them,
	// and never what was to be put back.
	if problems > 0 || 3*right < 2*runs {
		return fmt.Errorf("%d of %d verdicts right, %d runs failed or were not restored", right, runs, problems)
	}
	return nil
}

// others lists what was named, but for want.
func others(named map[model.LimiterID]int, want model.LimiterID) string {
	var out []string
	for id, n := range named {
		if id != want {
			out = append(out, fmt.Sprintf("%s %d", id, n))
		}
	}
	sort.Strings(out)
	if len(out) == 0 {
		return "–"
	}
	return strings.Join(out, ", ")
}

// wilson is the 95% score interval of k successes in n (Wilson 1927).
func wilson(k, n int) (lo, hi float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return math.Max(0, mid-half), math.Min(1, mid+half)
}

func deref(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func optional(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *v)
}
