// Command diagnosis is the judge: it puts faults into a lab, one at a time, has them
// diagnosed, and prints how often the diagnosis named the one that binds.
//
//	go run ./bench/diagnosis                 the whole matrix, about 55 minutes
//	go run ./bench/diagnosis -quick          one of each kind, about 8 minutes
//	go run ./bench/diagnosis -shard 2/3 -results a.jsonl   a third of it
//	go run ./bench/diagnosis -print a.jsonl b.jsonl        the table again
//	go run ./bench/diagnosis -blind -recordings DIR -json  recordings, by an engine that does not know the cause
//	go run ./bench/diagnosis -wild -seed 1 -shard 1/2 -record DIR   faults in no catalogue, half of a draw
//	go run ./bench/diagnosis -wild -print -recordings DIR diagnosis.jsonl   the same, judged anew
//	go run ./bench/diagnosis -record DIR -by-hand 'late=link:client1-server1 reorder=30%'
//
// The truth of a case is measured, not assumed: goodput is measured with the
// fault and without it, in turns, in the same lab, and the judged run counts as
// one of those with it. Where taking it out brings less than 5%, or did not cost
// the judged run as much, the path counts as healthy, and whatever the diagnosis
// blames is a false alarm. The diagnosis knows the line rate of the path, as in
// `linerate demo`, and nothing else.
//
// Pairs of faults at once are measured in all four states; there the verdict's
// causes must hold both, the one that binds now first.
//
// It can be stopped at any time and started again with the same -results: each
// case is a line of that file, and cases that are there are not run again. It
// judges verdicts only; it neither proves fixes nor measures speed. Where a lab
// could not be taken down it goes on with another, and ends with an error. It
// refuses to begin where a program that the faults call is missing.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"linerate/bench/kit"
	"linerate/internal/explain"
)

type options struct {
	quick   bool
	repeats int
	shard   string
	seed    uint64
	results string
	only    string
	print   bool
	record  string
	byHand  string

	blind      bool
	recordings string
	json       bool

	wild bool
}

func main() {
	if code, ok := asLinerate(); ok {
		os.Exit(code)
	}
	var o options
	flag.BoolVar(&o.quick, "quick", false, "one fault of each kind, at its middle severity, with cubic")
	flag.IntVar(&o.repeats, "n", 1, "times that each case is run")
	flag.StringVar(&o.shard, "shard", "1/1", "run every n-th case only, from the i-th: i/n")
	flag.Uint64Var(&o.seed, "seed", 1, "of the order of cases and of runs")
	flag.StringVar(&o.results, "results", "diagnosis.jsonl", "file of results: a line for each case; cases in it are not run again")
	flag.StringVar(&o.only, "only", "", "only cases whose key has this in it, e.g. loss or /bbr/; with -wild also those of this class, e.g. mix")
	flag.StringVar(&o.record, "record", "", "folder to keep what each verdict was concluded from in, as testdata/recordings has it")
	flag.StringVar(&o.byHand, "by-hand", "", "NAME=WORDS: show what is said of this alone, put wrong by the words of lab fault add, or by run:HOST COMMAND")
	flag.BoolVar(&o.print, "print", false, "run nothing: print the table of the files that are named")
	flag.BoolVar(&o.blind, "blind", false, "run nothing: judge recordings by an engine from which the detectors of their own limiter are taken out")
	flag.StringVar(&o.recordings, "recordings", "", "folder of recordings: for -blind with their labels.json (default testdata/recordings); with -wild -print those of the results, which are judged anew")
	flag.BoolVar(&o.json, "json", false, "print what -blind or -wild found as JSON")
	flag.BoolVar(&o.wild, "wild", false, "faults that are in no catalogue, drawn by -seed; parts of a draw (-shard) share none")
	flag.Parse()
	kit.Main("diagnosis", func(ctx context.Context) error { return run(ctx, o, flag.Args(), os.Stdout) })
}

func run(ctx context.Context, o options, files []string, w io.Writer) error {
	if o.print && o.wild {
		return printWild(files, o.recordings, o.json, w)
	}
	if o.print {
		return printFiles(files, w)
	}
	if o.blind {
		return blind(cmp.Or(o.recordings, "testdata/recordings"), o.json, w)
	}
	if len(files) > 0 {
		return fmt.Errorf("unexpected argument %q: a table of files is printed with -print", files[0])
	}
	cases, err := chosen(o)
	if err != nil {
		return err
	}
	if o.wild {
		if err := haveWildPrograms(cases, exec.LookPath); err != nil {
			return err
		}
	}
	build, err := labBuilder(ctx, o.seed)
	if err != nil {
		return err
	}
	j := &judge{build: build, seed: o.seed, name: buildName(), now: time.Now}
	j.cpu = func() (kit.CPU, error) { all, _, err := kit.ReadCPU(); return all, err }
	j.say = func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	if o.record != "" {
		j.record = recorder(o.record)
	}
	if o.byHand != "" {
		name, words, _ := strings.Cut(o.byHand, "=")
		var keep func(string, explain.Case) error
		if o.record != "" {
			keep = keeper(o.record)
		}
		return byHand(ctx, j, name, words, keep)
	}
	ran := runCases(ctx, j, cases, o.results)
	if stays := (stayed)(nil); ran != nil && !errors.As(ran, &stays) {
		return ran
	}
	if o.wild {
		return errors.Join(printWild([]string{o.results}, "", o.json, w), ran)
	}
	return errors.Join(printFiles([]string{o.results}, w), ran)
}

// chosen are the cases of the shard.
func chosen(o options) ([]Case, error) {
	var i, n int
	if _, err := fmt.Sscanf(o.shard, "%d/%d", &i, &n); err != nil || n < 1 || i < 1 || i > n || o.shard != fmt.Sprintf("%d/%d", i, n) {
		return nil, fmt.Errorf("shard %q: want i/n with i from 1 to n", o.shard)
	}
	if o.repeats < 1 {
		return nil, fmt.Errorf("%d repeats: want 1 or more", o.repeats)
	}
	if o.wild {
		out := wildCases(o.seed, i, n, o.only)
		if len(out) == 0 {
			return nil, fmt.Errorf("no case of this part has %q in its key", o.only)
		}
		return out, nil
	}
	all := slices.DeleteFunc(matrix(o.quick, o.repeats), func(c Case) bool { return !c.matches(o.only) })
	if len(all) == 0 {
		return nil, fmt.Errorf("no case has %q in its key", o.only)
	}
	return shard(all, i, n, o.seed), nil
}

// runCases runs what the file does not hold yet.
func runCases(ctx context.Context, j *judge, cases []Case, path string) (err error) {
	before, err := readResults(path)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, r := range before {
		done[r.Key()] = r.Error == ""
	}
	cases = slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return done[c.Key()] })
	out, err := openJournal(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.close(), out.close()) }()
	for i, c := range cases {
		r, err := j.runQuiet(ctx, c)
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("interrupted after %d of %d cases; the same command goes on, -print %s shows what there is", i, len(cases), path), err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Key(), err)
		}
		if err := out.add(r); err != nil {
			return err
		}
		j.say("%d/%d %s", i+1, len(cases), r)
	}
	j.leave()
	if len(j.left) > 0 {
		return j.left
	}
	return nil
}

// String is the case in one line, to show the progress.
func (r Result) String() string {
	if r.Error != "" {
		return fmt.Sprintf("%s: not judged: %s", r.Key(), r.Error)
	}
	ratio := "from nothing"
	if r.Ratio != nil {
		ratio = fmt.Sprintf("x%.2f", *r.Ratio)
	}
	if r.Fault == healthy {
		ratio = "-"
	}
	worth := string(judged(r))
	if r.Pair != nil {
		worth = judgedPair(r)
	}
	if r.Wild != nil {
		worth = string(wildWorth(r))
	}
	return fmt.Sprintf("%s: %s (%.2f) %s; without it %s; %s, %.1f s", r.Key(), r.Verdict, r.Confidence, r.Measured, ratio, worth, r.Seconds)
}

func printFiles(files []string, w io.Writer) error {
	if len(files) == 0 {
		return errors.New("name the files of results to print")
	}
	var all []Result
	for _, f := range files {
		r, err := readResults(f)
		if err != nil {
			return err
		}
		all = append(all, r...)
	}
	_, err := io.WriteString(w, "\n"+Table(all))
	return err
}
