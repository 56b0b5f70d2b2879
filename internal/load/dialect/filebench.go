package dialect

import (
	"regexp"
	"strings"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// filebench is a workload file that is being read.
type filebench struct {
	vars  map[string]string
	files map[string]unit.Bytes // by name
	flow  *fbFlow
	inst  int // instances of process and thread, multiplied
	run   time.Duration
	notes []string
}

// fbFlow is the one operation that a thread repeats.
type fbFlow struct {
	line         int
	read, random bool
	file         string
	size         unit.Bytes
	direct, sync bool
}

// Filebench translates a workload file in which one thread, or several at random,
// read or write one file again and again, as singlestreamread.f and
// singlestreamwrite.f do. run is for files that do not say how long; 0: they must.
// The target's path is a name below a directory that the caller makes.
//
// Errors are *Error.
func Filebench(text string, run time.Duration) (Job, error) {
	if len(text) > maxText {
		return Job{}, wrong(0, "the file is larger than %d bytes", maxText)
	}
	f := &filebench{vars: map[string]string{}, files: map[string]unit.Bytes{}, inst: 1, run: run}
	for i, line := range strings.Split(text, "\n") {
		if i >= maxLines {
			return Job{}, wrong(i+1, "more than %d lines", maxLines)
		}
		if err := f.line(i+1, line); err != nil {
			return Job{}, err
		}
	}
	return f.job()
}

var braces = strings.NewReplacer("{", " { ", "}", " } ")

func (f *filebench) line(n int, line string) error {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(braces.Replace(line))
	for len(words) > 0 && (words[0] == "{" || words[0] == "}") {
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	rest := strings.TrimSuffix(strings.TrimSpace(strings.Join(words[1:], " ")), " {")
	switch strings.ToLower(words[0]) {
	case "set":
		return f.set(n, rest)
	case "define":
		return f.define(n, rest)
	case "thread":
		return f.instances(n, "thread", rest, "memsize")
	case "flowop":
		return f.flowop(n, strings.TrimSuffix(rest, " }"))
	case "run":
		v, err := parseTime(f.value(rest))
		if err != nil || v <= 0 {
			return wrong(n, "run %s: want seconds", rest)
		}
		f.run = v
		return nil
	case "echo", "usage", "stats", "debug", "create", "quit":
		return nil // prints, or is done here anyway
	}
	return wrong(n, "%s is not supported", words[0])
}

// value resolves a variable and takes quotes off.
func (f *filebench) value(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"`)
	if v, ok := f.vars[s]; ok {
		return v
	}
	return s
}

func (f *filebench) set(n int, rest string) error {
	name, value, ok := strings.Cut(rest, "=")
	if !ok || !strings.HasPrefix(name, "$") {
		return wrong(n, "set %s: want $NAME=VALUE", rest)
	}
	f.vars[strings.TrimSpace(name)] = f.value(value)
	return nil
}

var attribute = regexp.MustCompile(`^\s*([a-z]+)\s*(?:=\s*(.*?))?\s*$`)

// attributes of a definition, in order.
func (f *filebench) attributes(n int, rest string) (names []string, values map[string]string, err error) {
	values = map[string]string{}
	for _, part := range strings.Split(rest, ",") {
		m := attribute.FindStringSubmatch(part)
		if m == nil {
			return nil, nil, wrong(n, "%q is no attribute", strings.TrimSpace(part))
		}
		names = append(names, m[1])
		values[m[1]] = f.value(m[2])
	}
	return names, values, nil
}

func (f *filebench) define(n int, rest string) error {
	kind, rest, _ := strings.Cut(rest, " ")
	switch kind {
	case "process":
		return f.instances(n, "process", rest)
	case "file", "fileset":
	default:
		return wrong(n, "define %s is not supported", kind)
	}
	names, v, err := f.attributes(n, rest)
	if err != nil {
		return err
	}
	for _, a := range names {
		switch {
		case a == "name" || a == "path" || a == "size" || a == "prealloc" || a == "reuse" || a == "paralloc":
		case a == "entries" && v[a] == "1", a == "dirwidth":
		default:
			return wrong(n, "define %s: %s=%s is not supported", kind, a, v[a])
		}
	}
	size, err := parseSize(v["size"], 1)
	if err != nil || size < 1 {
		return wrong(n, "define %s %s: size=%s is no size", kind, v["name"], v["size"])
	}
	f.files[v["name"]] = size
	return nil
}

// instances of a process or thread.
func (f *filebench) instances(n int, what, rest string, also ...string) error {
	names, v, err := f.attributes(n, rest)
	if err != nil {
		return err
	}
	for _, a := range names {
		switch {
		case a == "name" || len(also) > 0 && a == also[0]:
		case a == "instances":
			i, err := parseCount(v[a], 1024)
			if err != nil {
				return wrong(n, "%s: instances=%v", what, err)
			}
			f.inst *= i
		default:
			return wrong(n, "%s: %s=%s is not supported", what, a, v[a])
		}
	}
	return nil
}

func (f *filebench) flowop(n int, rest string) error {
	kind, rest, _ := strings.Cut(rest, " ")
	if kind == "bwlimit" || kind == "iopslimit" || kind == "eventlimit" {
		f.notes = append(f.notes, kind+" does nothing without a rate of events, and none is set")
		return nil
	}
	if kind != "read" && kind != "write" {
		return wrong(n, "flowop %s is not supported: want read or write", kind)
	}
	if f.flow != nil {
		return wrong(n, "a second flowop that moves data (the first is in line %d) is not supported", f.flow.line)
	}
	names, v, err := f.attributes(n, rest)
	if err != nil {
		return err
	}
	flow := &fbFlow{line: n, read: kind == "read"}
	for _, a := range names {
		switch a {
		case "name":
		case "filename", "filesetname":
			flow.file = v[a]
		case "iosize":
			if flow.size, err = parseSize(v[a], 1); err != nil || flow.size < 1 {
				return wrong(n, "flowop %s: iosize=%s is no size", kind, v[a])
			}
		case "random":
			flow.random = v[a] != "0"
		case "directio":
			flow.direct = v[a] != "0"
		case "dsync":
			flow.sync = v[a] != "0"
		default:
			return wrong(n, "flowop %s: %s=%s is not supported", kind, a, v[a])
		}
	}
	f.flow = flow
	return nil
}

func (f *filebench) job() (Job, error) {
	switch {
	case f.flow == nil:
		return Job{}, wrong(0, "no flowop reads or writes")
	case f.flow.size == 0:
		return Job{}, wrong(f.flow.line, "the flowop has no iosize")
	case f.files[f.flow.file] == 0:
		return Job{}, wrong(f.flow.line, "file %q is not defined", f.flow.file)
	case f.files[f.flow.file] < f.flow.size:
		return Job{}, wrong(f.flow.line, "file %q is smaller than iosize", f.flow.file)
	case f.inst > 1024 || f.inst > 1 && !f.flow.random:
		return Job{}, wrong(f.flow.line, "%d threads that each go through one file in order are not supported", f.inst)
	case f.run == 0:
		return Job{}, wrong(0, "the file does not say how long to run (run SECONDS)")
	}
	j := Job{Name: "filebench " + f.flow.file, Duration: f.run, Direct: f.flow.direct, Durable: f.flow.sync, Notes: f.notes,
		Shape:   shape.Shape{Pattern: shape.Sequential, Sizes: one(f.flow.size), Arrivals: shape.Closed},
		Targets: []Target{{Name: f.flow.file, Path: "filebench.0", Size: f.files[f.flow.file], Depth: f.inst}}}
	if f.flow.read {
		j.Shape.Read = 1
	}
	if f.flow.random {
		j.Shape.Pattern = shape.Random
	}
	return j, nil
}
