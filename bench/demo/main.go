// Command demo runs `linerate demo` many times for each fault and prints how
// often the limiter was named right, with the 95% Wilson interval. It is the
// measure of the loop's honesty, not of its speed. It only starts the program
// and reads what it prints; it knows nothing of how a limiter is found.
//
//	go run ./bench/demo -n 20            verdicts only (about 12 s a run)
//	go run ./bench/demo -n 1 -proof      the whole loop, once per fault
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
	"linerate/internal/model"
)

type options struct {
	n      int
	faults string
	proof  bool
	prove  string
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
	flag.StringVar(&o.prove, "prove", "", "comma-separated fault ids that run with their proof, the others to the verdict")
	flag.IntVar(&o.uid, "uid", 0, "run as this user id (needs root); 0 is whoever runs the bench")
	flag.IntVar(&o.retry, "retry", 0, "a wrong run may be repeated so many times (for CI on noisy machines; printed)")
	flag.StringVar(&o.binary, "binary", "", "linerate binary; empty builds one")
	flag.StringVar(&o.keep, "keep", "", "folder that keeps the bundles of the runs that were not right")
	flag.Parse()
	kit.Main("demo", func(ctx context.Context) error {
		if err := errors.Join(known(o.faults), known(o.prove)); err != nil {
			return err
		}
		return kit.WithUser(ctx, "", o.binary, func(u kit.User) error { return run(ctx, u, o, os.Stdout) })
	})
}

func run(ctx context.Context, u kit.User, o options, w io.Writer) error {
	if err := os.Chmod(u.Home, 0o755); err != nil { // another user may run the program there
		return err
	}
	var tallies []*tally
	for _, f := range chosen(o.faults) {
		tallies = append(tallies, &tally{fault: f.ID, want: f.Limiter, named: map[model.LimiterID]int{}, spoiled: map[model.LimiterID]int{}})
	}
	// Round by round, so that the machine's drift falls on every fault alike.
	for i := 0; i < o.n && ctx.Err() == nil; i++ {
		for _, t := range tallies {
			if !t.attempt(ctx, u, o, w) {
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
func (t *tally) attempt(ctx context.Context, u kit.User, o options, w io.Writer) bool {
	var r outcome
	for try := 0; try <= moreTries+o.retry; try++ {
		var stolen float64
		r, stolen = t.watched(ctx, u, o)
		if ctx.Err() != nil {
			return false
		}
		if stolen >= kit.Spoiled && r.err == nil {
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

// watched runs one demo, and returns the share of the CPU that the hypervisor took
// meanwhile.
func (t *tally) watched(ctx context.Context, u kit.User, o options) (outcome, float64) {
	before, _, err := kit.ReadCPU()
	r := once(ctx, u, o, t)
	after, _, again := kit.ReadCPU()
	r.err = errors.Join(r.err, err, again)
	cpu := after.Since(before)
	return r, cpu.Share(cpu.Stolen)
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

func listed(ids, id string) bool { return slices.Contains(strings.Split(ids, ","), id) }

// known refuses ids that no fault has: a bench that runs nothing proves nothing.
func known(ids string) error {
	for id := range strings.SplitSeq(ids, ",") {
		if ids != "" && !slices.ContainsFunc(lab.Faults(), func(f lab.Fault) bool { return f.ID == id }) {
			return fmt.Errorf("find fault %q: there is none", id)
		}
	}
	return nil
}

func chosen(ids string) []lab.Fault {
	var out []lab.Fault
	for _, f := range lab.Faults() {
		if ids == "" || listed(ids, f.ID) {
			out = append(out, f)
		}
	}
	return out
}

// once runs one demo.
func once(ctx context.Context, u kit.User, o options, t *tally) (r outcome) {
	args := []string{"demo", "--json", "--fault", t.fault}
	if !o.proof && !listed(o.prove, t.fault) {
		args = append(args, "--no-proof")
	}
	home, err := os.MkdirTemp(u.Home, "home-")
	if err != nil {
		return outcome{err: err}
	}
	defer os.RemoveAll(home)
	u.Home = home
	started := time.Now()
	out, err := demo(ctx, u, o.uid, args)
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

func demo(ctx context.Context, u kit.User, uid int, args []string) (out model.Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := u.Command(ctx, args...)
	if uid != 0 {
		if err := os.Chown(u.Home, uid, uid); err != nil {
			return out, err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	err = kit.Decode(cmd, &out)
	return out, err
}

func print(w io.Writer, tallies []*tally) error {
	fmt.Fprintln(w)
	kit.Head(w, "fault", "limiter", "named right", "95% interval", "median s", "otherwise named", "not counted", "proof")
	var right, runs, problems int
	for _, t := range tallies {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %.1f | %s | %s | %s |\n", t.fault, t.want, kit.Of(t.right, t.runs), kit.Interval(t.right, t.runs),
			kit.MedianOrZero(t.seconds), others(t.named, t.want), others(t.spoiled, ""), cmp.Or(strings.Join(t.ratios, "; "), kit.None))
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
	slices.Sort(out)
	return kit.List(out)
}

func deref(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func optional(v *float64) string {
	if v == nil {
		return kit.None
	}
	return fmt.Sprintf("%.3f", *v)
}
