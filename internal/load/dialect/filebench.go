package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// filebench is a workload file that is being read.
type filebench struct {
	vars    map[string]string
	files   map[string]fbFiles // by name
	process int                // instances of the process that is being defined
	threads []*fbThread
	events  float64 // per second; 0: as many as there are asked for
	run     time.Duration
	notes   []string
}

// fbFiles is a file, or a set of them.
type fbFiles struct {
	size    unit.Bytes // of each; 0: they begin empty
	entries int
}

// fbThread is what some threads do, each by itself.
type fbThread struct {
	line    int
	inst    int
	flow    *fbFlow
	limited bool // by events
}

// fbFlow is the one operation that a thread repeats.
type fbFlow struct {
	line         int
	read, random bool
	file         string
	size         unit.Bytes
	set          unit.Bytes // of the file that is used; 0: all
	direct, sync bool
}

// grown is how large a file is made that filebench lets grow from nothing for as long as
// it runs.
const grown = 4 * unit.GiB

// Filebench translates a workload file in which threads read or write files again and
// again, each with one operation, and all alike but for the file and whether they read: as
// singlestreamread.f, singlestreamwrite.f, fivestreamread.f, randomrw.f and their like do.
// What makes, opens or deletes files is refused: fileserver.f, webserver.f, varmail.f. run
// is for files that do not say how long; 0: they must. The targets' paths are names below a
// directory that the caller makes.
//
// Errors are *Error.
func Filebench(text string, run time.Duration) (Job, error) {
	if len(text) > maxText {
		return Job{}, wrong(0, "the file is larger than %d bytes", maxText)
	}
	f := &filebench{vars: map[string]string{}, files: map[string]fbFiles{}, process: 1, run: run}
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
		i, err := f.instances(n, "thread", rest, "memsize")
		f.threads = append(f.threads, &fbThread{line: n, inst: i * f.process})
		if err == nil && f.process*i > maxFlows {
			err = wrong(n, "more than %d threads", maxFlows)
		}
		return err
	case "eventgen":
		return f.eventgen(n, rest)
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
	if mode := strings.Fields(rest); len(mode) > 1 && mode[0] == "mode" && mode[1] == "quit" {
		f.notes = append(f.notes, "set "+rest+": the run ends with its time here")
		return nil
	}
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

// eventgen reads the rate of events, of which each operation that is limited takes one.
func (f *filebench) eventgen(n int, rest string) error {
	_, v, err := f.attributes(n, rest)
	if err != nil {
		return err
	}
	rate, err := strconv.ParseFloat(v["rate"], 64)
	if err != nil || len(v) != 1 || !(rate >= 0 && rate <= 1e9) {
		return wrong(n, "eventgen %s: want rate=NUMBER", rest)
	}
	f.events = rate
	return nil
}

func (f *filebench) define(n int, rest string) (err error) {
	kind, rest, _ := strings.Cut(rest, " ")
	switch kind {
	case "process":
		f.process, err = f.instances(n, "process", rest)
		return err
	case "file", "fileset":
	default:
		return wrong(n, "define %s is not supported", kind)
	}
	names, v, err := f.attributes(n, rest)
	if err != nil {
		return err
	}
	of := fbFiles{entries: 1}
	for _, a := range names {
		switch {
		case a == "name" || a == "path" || a == "size" || a == "prealloc" || a == "reuse" || a == "paralloc" || a == "dirwidth":
		case a == "entries":
			if of.entries, err = parseCount(v[a], maxTargets); err != nil {
				return wrong(n, "define %s: entries=%v", kind, err)
			}
		default:
			return wrong(n, "define %s: %s=%s is not supported", kind, a, v[a])
		}
	}
	if text, given := v["size"]; given {
		if of.size, err = parseSize(text, 1); err != nil {
			return wrong(n, "define %s %s: size=%s is no size", kind, v["name"], text)
		}
	}
	f.files[v["name"]] = of
	return nil
}

// instances of a process or thread.
func (f *filebench) instances(n int, what, rest string, also ...string) (int, error) {
	names, v, err := f.attributes(n, rest)
	if err != nil {
		return 0, err
	}
	count := 1
	for _, a := range names {
		switch {
		case a == "name" || len(also) > 0 && a == also[0]:
		case a == "instances":
			if count, err = parseCount(v[a], maxFlows); err != nil {
				return 0, wrong(n, "%s: instances=%v", what, err)
			}
		default:
			return 0, wrong(n, "%s: %s=%s is not supported", what, a, v[a])
		}
	}
	return count, nil
}

func (f *filebench) flowop(n int, rest string) error {
	kind, rest, _ := strings.Cut(rest, " ")
	if len(f.threads) == 0 {
		f.threads = append(f.threads, &fbThread{line: n, inst: 1}) // of a file that names none
	}
	t := f.threads[len(f.threads)-1]
	switch kind {
	case "iopslimit", "eventlimit":
		t.limited = true
		return nil
	case "bwlimit":
		t.limited = true
		f.notes = append(f.notes, kind+" does nothing without a rate of events, and none is set")
		return nil
	case "read", "write":
	case "createfile", "openfile", "closefile", "deletefile", "statfile", "makedir", "removedir", "listdir", "readwholefile", "writewholefile", "appendfile", "appendfilerand":
		return wrong(n, "flowop %s is not supported: files are read and written here, and neither made, opened, walked nor deleted", kind)
	default:
		return wrong(n, "flowop %s is not supported: want read or write", kind)
	}
	if t.flow != nil {
		return wrong(n, "a second flowop that moves data (the first is in line %d) is not supported", t.flow.line)
	}
	names, v, err := f.attributes(n, rest)
	if err != nil {
		return err
	}
	t.flow = &fbFlow{line: n, read: kind == "read"}
	for _, a := range names {
		if err := f.flowWord(t.flow, a, v[a]); err != nil {
			return wrong(n, "flowop %s: %s=%s %v", kind, a, v[a], err)
		}
	}
	return nil
}

func (f *filebench) flowWord(flow *fbFlow, name, value string) (err error) {
	on := value != "0" && value != "false"
	switch name {
	case "name":
	case "filename", "filesetname":
		flow.file = value
	case "iosize":
		flow.size, err = parseSize(value, 1)
		if err != nil || flow.size < 1 {
			return errors.New("is no size")
		}
	case "workingset":
		if flow.set, err = parseSize(value, 1); err != nil {
			return errors.New("is no size")
		}
	case "random":
		flow.random = on
	case "directio":
		flow.direct = on
	case "dsync":
		flow.sync = on
	case "iters":
		if value != "1" {
			return errors.New("is not supported")
		}
	default:
		return errors.New("is not supported")
	}
	return nil
}

// maxFlows bounds the threads of a workload.
const maxFlows = 1024

// alike checks that threads differ in nothing but the file, and whether they read.
func (f *filebench) alike() (*fbFlow, error) {
	var first *fbFlow
	for _, t := range f.threads {
		x := t.flow
		switch {
		case x == nil:
			return nil, wrong(t.line, "this thread moves no data")
		case x.size == 0:
			return nil, wrong(x.line, "the flowop has no iosize")
		case f.files[x.file].entries == 0:
			return nil, wrong(x.line, "file %q is not defined", x.file)
		case first == nil:
			first = x
		case x.size != first.size || x.random != first.random || x.direct != first.direct || x.sync != first.sync || x.set != first.set:
			return nil, wrong(x.line, "this flowop is another one than that of line %d, and both run at once: only the file, and read or write, may differ", first.line)
		}
		if t.limited != f.threads[0].limited {
			return nil, wrong(t.line, "some threads are limited by events and some are not: that is not supported")
		}
	}
	if first == nil {
		return nil, wrong(0, "no flowop reads or writes")
	}
	return first, nil
}

// fbUse is how many threads read a file, and how many write it.
type fbUse struct {
	name           string
	readers, write int
	size           unit.Bytes
}

// uses spreads threads over files: of a set each takes the next.
func (f *filebench) uses() ([]fbUse, error) {
	var out []fbUse
	next := map[string]int{}
	for _, t := range f.threads {
		of := f.files[t.flow.file]
		size := of.size
		if size == 0 && !t.flow.read {
			if size = grown; len(f.notes) < maxTargets {
				f.notes = append(f.notes, fmt.Sprintf("%s begins empty and grows in filebench: here it is %v, written from its beginning again when it is full, unless another size is asked for", t.flow.file, size))
			}
		}
		if size < t.flow.size {
			return nil, wrong(t.flow.line, "file %q is smaller than iosize", t.flow.file)
		}
		if t.flow.set > 0 {
			size = min(size, max(t.flow.set, t.flow.size))
		}
		for range t.inst {
			name := t.flow.file
			if of.entries > 1 {
				name = fmt.Sprintf("%s.%d", name, next[t.flow.file]%of.entries+1)
				next[t.flow.file]++
			}
			i := slices.IndexFunc(out, func(u fbUse) bool { return u.name == name })
			if i < 0 {
				if i = len(out); i >= maxTargets {
					return nil, wrong(t.flow.line, "more than %d files", maxTargets)
				}
				out = append(out, fbUse{name: name, size: size})
			}
			if t.flow.read {
				out[i].readers++
			} else {
				out[i].write++
			}
		}
	}
	return out, nil
}

func (f *filebench) job() (Job, error) {
	flow, err := f.alike()
	if err != nil {
		return Job{}, err
	}
	uses, err := f.uses()
	if err != nil {
		return Job{}, err
	}
	if f.run == 0 {
		return Job{}, wrong(0, "the file does not say how long to run (run SECONDS)")
	}
	j := Job{Name: "filebench " + flow.file, Duration: f.run, Direct: flow.direct, Durable: flow.sync, Notes: slices.Compact(f.notes),
		Shape: shape.Shape{Pattern: shape.Sequential, Sizes: one(flow.size), Arrivals: shape.Closed}}
	if flow.random {
		j.Shape.Pattern = shape.Random
	}
	for i, u := range uses {
		depth := u.readers + u.write
		read := float64(u.readers) / float64(depth)
		switch {
		case depth > maxFlows:
			return Job{}, wrong(flow.line, "more than %d threads on one file", maxFlows)
		case depth > 1 && !flow.random:
			return Job{}, wrong(flow.line, "%d threads that each go through one file in order are not supported", depth)
		case i > 0 && read != j.Shape.Read:
			return Job{}, wrong(flow.line, "files of one run that are read and written in other parts are not supported")
		case f.events > 0 && depth != uses[0].readers+uses[0].write:
			return Job{}, wrong(flow.line, "a rate of events over files with other numbers of threads is not supported")
		}
		j.Shape.Read = read
		j.Targets = append(j.Targets, Target{Name: u.name, Path: fmt.Sprintf("filebench.%d", i), Size: u.size, Depth: depth})
	}
	if j.Shape.Read > 0 && j.Shape.Read < 1 {
		j.Notes = append(j.Notes, fmt.Sprintf("threads that read and threads that write become one mix, drawn by chance: %.0f%% reads, as many in flight as there are threads", 100*j.Shape.Read))
	}
	return j, f.rate(&j)
}

// rate limits the job by events.
func (f *filebench) rate(j *Job) error {
	if f.events == 0 || !f.threads[0].limited {
		return nil
	}
	if i := slices.IndexFunc(j.Notes, func(n string) bool { return strings.HasPrefix(n, "bwlimit ") }); i >= 0 {
		return wrong(f.threads[0].line, "bwlimit with a rate of events is not supported: want iopslimit or eventlimit")
	}
	j.Shape.Rate, j.Shape.Arrivals = f.events, shape.Uniform
	j.Notes = append(j.Notes, "eventgen: requests are due at that rate, and latency counts from then")
	return nil
}
