package dialect

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// Defaults of iozone (iozone(1)): records of 4 KiB, a file of 512 KiB. Numbers
// without a letter are in KiB.
const (
	ioRecord = 4 * unit.KiB
	ioFile   = 512 * unit.KiB
)

// ioOptions is a command line of iozone that is being read.
type ioOptions struct {
	tests        []string
	record, file unit.Bytes
	threads      int
	direct, sync bool
	flush        bool
	retest       bool
	notes        []string
}

// valued are options with a value, which may stand in the same word.
const valued = "irst"

// Iozone translates iozone's options: -i 0, 1 and 2 with -r, -s, -t, and -I, -o,
// -e, -c, -+n; and those that change only what is printed (-R, -O, -C). Each test
// is a job or two: a pass over each file. Paths of targets are names below a
// directory that the caller makes.
//
// Errors are *Error.
func Iozone(args []string) ([]Job, error) {
	o := ioOptions{record: ioRecord, file: ioFile, threads: 1, retest: true}
	for i := 0; i < len(args); i++ {
		flag, value := args[i], ""
		if len(flag) >= 2 && flag[0] == '-' && strings.IndexByte(valued, flag[1]) >= 0 {
			if value = flag[2:]; value == "" {
				if i++; i == len(args) {
					return nil, wrong(0, "%s needs a value", flag)
				}
				value = args[i]
			}
			flag = flag[:2]
		}
		if err := o.option(flag, value); err != nil {
			return nil, wrong(0, "iozone %s: %v", strings.TrimSpace(flag+" "+value), err)
		}
	}
	if len(o.tests) == 0 {
		return nil, wrong(0, "iozone runs all of its tests without -i, and only 0, 1 and 2 are supported: name them, as -i 0 -i 1")
	}
	if o.file < o.record || o.file%o.record != 0 {
		return nil, wrong(0, "a file of %v is not made of records of %v", o.file, o.record)
	}
	return o.jobs(), nil
}

func (o *ioOptions) option(flag, value string) (err error) {
	switch flag {
	case "-i":
		if !slices.Contains([]string{"0", "1", "2"}, value) {
			return fmt.Errorf("only the tests 0 (write, rewrite), 1 (read, reread) and 2 (random) are supported")
		}
		if !slices.Contains(o.tests, value) {
			o.tests = append(o.tests, value)
		}
	case "-r":
		o.record, err = parseSize(value, unit.KiB)
	case "-s":
		o.file, err = parseSize(value, unit.KiB)
	case "-t":
		o.threads, err = parseCount(value, maxTargets)
	case "-I":
		o.direct = true
	case "-o":
		o.sync = true
	case "-e":
		o.flush = true
	case "-c":
		o.notes = append(o.notes, "-c: closing a file is not part of the time here")
	case "-+n":
		o.retest = false
	case "-R", "-O", "-C":
		o.notes = append(o.notes, flag+" changes only what iozone prints")
	case "-a":
		return fmt.Errorf("the automatic mode runs tests that are not supported: name tests with -i, and sizes with -r and -s")
	default:
		return fmt.Errorf("it is not supported")
	}
	if err == nil && (o.record < 1 || o.file < 1) {
		return fmt.Errorf("nothing is that small")
	}
	return err
}

// jobs in iozone's order: writes make the files that the others use.
func (o *ioOptions) jobs() []Job {
	var out []Job
	add := func(name string, p shape.Pattern, read float64) {
		j := Job{Name: "iozone " + name, Direct: o.direct, Durable: o.sync, Flush: o.flush && read < 1, Notes: o.notes,
			Shape: shape.Shape{Pattern: p, Read: read, Sizes: one(o.record), Arrivals: shape.Closed}}
		for i := range o.threads {
			n := fmt.Sprintf("iozone.%d", i)
			j.Targets = append(j.Targets, Target{Name: n, Path: n, Size: o.file, Depth: 1})
		}
		out = append(out, j)
	}
	again := func(first, second string, p shape.Pattern, read float64) {
		add(first, p, read)
		if o.retest {
			add(second, p, read)
		}
	}
	// Without test 0 iozone makes the files all the same.
	if again("write", "rewrite", shape.Sequential, 0); !slices.Contains(o.tests, "0") {
		out = out[:1]
		out[0].Notes = append(slices.Clone(out[0].Notes), "test 0 was not asked for: it makes the files")
	}
	if slices.Contains(o.tests, "1") {
		again("read", "reread", shape.Sequential, 1)
	}
	if slices.Contains(o.tests, "2") {
		add("random read", shape.Once, 1)
		add("random write", shape.Once, 0)
	}
	return out
}
