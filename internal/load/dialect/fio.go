package dialect

import (
	"strings"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// fioFile is a job file that is being read.
type fioFile struct {
	global fioSection
	jobs   []fioSection
	inJob  bool // the lines that are read are of the last of jobs, not of global
}

// fioSection is a job: fio's defaults, what [global] said before it, and its own lines.
type fioSection struct {
	line int
	name string
	set  map[string]bool // options that were given

	pattern                string // rw
	read                   float64
	sizes                  []shape.SizeShare
	size                   unit.Bytes
	file, dir              string
	engine                 string
	depth, jobs            int
	direct, durable, flush bool
	noMap                  bool // random requests may hit a block again
	theta                  float64
	ramp, run              time.Duration
	timed, alone           bool // time_based; stonewall
	iops                   float64
	bytesPerSecond         unit.Bytes
	poisson                bool
	think                  time.Duration
	notes                  []string
}

// fioDefaults are fio's own (fio(1), 3.33).
func fioDefaults() fioSection {
	return fioSection{set: map[string]bool{}, pattern: "read", read: 0.5, sizes: one(4 * unit.KiB), engine: "psync", depth: 1, jobs: 1}
}

// FioOptions are what a command line says of a job file.
type FioOptions struct {
	// Map says which path stands for a filename=.
	Map map[string]string
	// InDir: every filename is made anew, in a directory that the caller makes.
	InDir bool
}

// FioJobs are the runs of a job file.
type FioJobs struct {
	Jobs []Job
	// Make: the targets are files that are to be made; else they exist.
	Make bool
	// Dir is where the file has its files made (directory=); empty: it does not say.
	Dir string
}

// Fio translates a job file of fio: its sections, and of their options those that say where
// requests go, how large they are, how many are in flight and for how long. Sections that
// run at once must be alike but for name, file and size, since one run has one shape;
// others stand behind stonewall, and become runs of their own.
//
// A filename= that begins with / is a target that exists; others, and jobs without one, are
// files below a directory that the caller makes.
//
// Errors are *Error, some with a step behind it.
func Fio(text string, o FioOptions) (FioJobs, error) {
	if len(text) > maxText {
		return FioJobs{}, wrong(0, "the file is larger than %d bytes", maxText)
	}
	f := fioFile{global: fioDefaults()}
	for i, line := range strings.Split(text, "\n") {
		if i >= maxLines {
			return FioJobs{}, wrong(i+1, "more than %d lines", maxLines)
		}
		if err := f.line(i+1, line); err != nil {
			return FioJobs{}, err
		}
	}
	return f.runs(o)
}

// line reads a section's head, or an option of the section that is open.
func (f *fioFile) line(n int, line string) error {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == ';' || line[0] == '#' {
		return nil
	}
	if line[0] == '[' {
		name, rest, ok := strings.Cut(line[1:], "]")
		if rest = strings.TrimSpace(rest); !ok || name == "" || rest != "" && rest[0] != ';' && rest[0] != '#' {
			return wrong(n, "%s: want [NAME]", line)
		}
		return f.section(n, name)
	}
	option, value, _ := strings.Cut(line, "=")
	option, value = strings.TrimSpace(option), strings.TrimSpace(value)
	s := &f.global
	if f.inJob {
		s = &f.jobs[len(f.jobs)-1]
	} else if f.global.line == 0 {
		return wrong(n, "%s stands before the first section: want [global] or [NAME]", option)
	}
	if strings.Contains(value, "${") {
		return wrong(n, "%s=%s: a variable of the environment would make another load each time: write its value", option, value)
	}
	read, ok := fioOptions[option]
	if !ok {
		return wrong(n, "%s is not supported", option)
	}
	s.set[option] = true
	if err := read(s, value); err != nil {
		return wrong(n, "%s=%s: %v", option, value, err)
	}
	return nil
}

// section opens [global], whose lines count for the jobs after them, or a job.
func (f *fioFile) section(n int, name string) error {
	f.global.line = n
	if f.inJob = name != "global"; !f.inJob {
		return nil
	}
	if len(f.jobs) >= maxJobs {
		return wrong(n, "more than %d jobs", maxJobs)
	}
	s := f.global.clone()
	s.line, s.name = n, name
	f.jobs = append(f.jobs, s)
	return nil
}

func (s fioSection) clone() fioSection {
	set := make(map[string]bool, len(s.set))
	for k := range s.set {
		set[k] = true
	}
	s.set, s.notes = set, append([]string(nil), s.notes...)
	return s
}
