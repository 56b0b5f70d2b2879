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
	auto         *ioAuto // -a; nil: one size each
	sized        [2]bool // -r, -s were given
}

// ioAuto is the ranges of the automatic mode.
type ioAuto struct{ fileLow, fileHigh, recordLow, recordHigh unit.Bytes }

// Bounds of the automatic mode, and from which file on it leaves small records out
// (iozone.h: KILOBYTES_START, KILOBYTES_END, RECLEN_START, RECLEN_END, CROSSOVER and
// LARGE_REC of iozone 3).
const (
	ioSmallFile   = 64 * unit.KiB
	ioLargeFile   = 512 * unit.MiB
	ioSmallRecord = 4 * unit.KiB
	ioLargeRecord = 16 * unit.MiB
	ioCrossover   = 16 * unit.MiB
	ioSkipBelow   = 64 * unit.KiB
)

// ioOthers are the tests that iozone runs too where none is named (iozone(1), -i).
const ioOthers = "reading backwards (3), rewriting a record (4), reading in strides (5), fwrite (6) and fread (7)"

// valued are options with a value, which may stand in the same word.
const valued = "irstngyq"

// Iozone translates iozone's options: -i 0, 1 and 2 (without -i all three, with a note of
// those that iozone runs too) with -r, -s, -t, and -I, -o,
// -e, -c, -+n; -a with -n, -g, -y and -q, which goes through sizes of files and records;
// and those that change only what is printed (-R, -O, -C). Each test is a job or two: a
// pass over each file. Paths of targets are names below a
// directory that the caller makes.
//
// Errors are *Error.
func Iozone(args []string) ([]Job, error) {
	o := ioOptions{record: ioRecord, file: ioFile, threads: 1, retest: true}
	ranges, bounded := ioAuto{ioSmallFile, ioLargeFile, ioSmallRecord, ioLargeRecord}, ""
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
		if flag == "-a" {
			o.auto = &ranges
			continue
		}
		if known, err := ranges.option(flag, value); known && err == nil {
			bounded = flag
			continue
		} else if err != nil {
			return nil, wrong(0, "iozone %s %s: %v", flag, value, err)
		}
		if err := o.option(flag, value); err != nil {
			return nil, wrong(0, "iozone %s: %v", strings.TrimSpace(flag+" "+value), err)
		}
	}
	if len(o.tests) == 0 {
		o.tests = []string{"0", "1", "2"}
		o.notes = append(o.notes, "without -i iozone runs all of its tests; here that are write, rewrite, read, reread, random read and random write, and not "+ioOthers)
	}
	if o.auto != nil {
		return o.automatic()
	}
	if bounded != "" {
		return nil, wrong(0, "%s bounds the sizes of the automatic mode: add -a", bounded)
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
		o.sized[0] = true
	case "-s":
		o.file, err = parseSize(value, unit.KiB)
		o.sized[1] = true
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
	case "-+m":
		return fmt.Errorf("its file of clients stands in the word after it")
	default:
		return fmt.Errorf("it is not supported")
	}
	if err == nil && (o.record < 1 || o.file < 1) {
		return fmt.Errorf("nothing is that small")
	}
	return err
}

// option reads a bound of the automatic mode.
func (a *ioAuto) option(flag, value string) (known bool, err error) {
	to, ok := map[string]*unit.Bytes{"-n": &a.fileLow, "-g": &a.fileHigh, "-y": &a.recordLow, "-q": &a.recordHigh}[flag]
	if !ok {
		return false, nil
	}
	if *to, err = parseSize(value, unit.KiB); err == nil && *to < 1 {
		err = fmt.Errorf("nothing is that small")
	}
	return true, err
}

// automatic is every file size with every record size that fits into it, doubling.
func (o *ioOptions) automatic() ([]Job, error) {
	a := *o.auto
	if o.sized[0] {
		a.recordLow, a.recordHigh = o.record, o.record
	}
	if o.sized[1] {
		a.fileLow, a.fileHigh = o.file, o.file
	}
	var out []Job
	for file := a.fileLow; file <= a.fileHigh; file *= 2 {
		low := a.recordLow
		if file > ioCrossover && low < ioSkipBelow && !o.sized[0] {
			low = ioSkipBelow
		}
		for record := low; record <= min(a.recordHigh, file); record *= 2 {
			one := *o
			one.file, one.record = file-file%record, record
			if rest := file % record; rest != 0 {
				one.notes = append(slices.Clone(o.notes), fmt.Sprintf("the last %v of %v are no whole record of %v: they are left out, as iozone does", rest, file, record))
			}
			for _, j := range one.jobs() {
				j.Name += fmt.Sprintf(" of %v in %v", file, record)
				out = append(out, j)
			}
			if len(out) > maxJobs {
				return nil, wrong(0, "more than %d runs: bound the sizes with -n, -g, -y and -q", maxJobs)
			}
		}
	}
	if len(out) == 0 {
		return nil, wrong(0, "no record size from %v to %v fits into a file from %v to %v", a.recordLow, a.recordHigh, a.fileLow, a.fileHigh)
	}
	return out, nil
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
