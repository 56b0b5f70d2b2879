package lab

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/lab/wire"
)

// place is where a command is to run: what Enter puts into its argv and
// EnterMain takes out again.
type place struct {
	pid     int    // of the holder
	start   uint64 // of the holder, so that a later process of its number is refused
	host    string
	lab     string // id
	cpus    []int
	cgroups []kernel.Cgroup
}

// Names of environment variables in every process of a lab.
const (
	labEnv  = "LINERATE_LAB" // the lab's id: how Down and Sweep know its processes
	hostEnv = "HOSTNAME"
)

func (p place) argv() []string {
	a := []string{"lab-enter", "--pid", strconv.Itoa(p.pid), "--start", strconv.FormatUint(p.start, 10),
		"--host", p.host, "--lab", p.lab, "--cpus", formatCPUs(p.cpus)}
	for _, c := range p.cgroups {
		a = append(a, "--cgroup", string(c))
	}
	return append(a, "--")
}

func parsePlace(args []string) (place, []string, error) {
	var p place
	fs := flag.NewFlagSet("lab-enter", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the error says it
	fs.IntVar(&p.pid, "pid", 0, "")
	fs.Uint64Var(&p.start, "start", 0, "")
	fs.StringVar(&p.host, "host", "", "")
	fs.StringVar(&p.lab, "lab", "", "")
	fs.Func("cpus", "", func(s string) (err error) { p.cpus, err = parseCPUs(s); return err })
	fs.Func("cgroup", "", func(s string) error { p.cgroups = append(p.cgroups, kernel.Cgroup(s)); return nil })
	if err := fs.Parse(args); err != nil {
		return p, nil, fmt.Errorf("enter lab host: %w", err)
	}
	if p.pid <= 0 || fs.NArg() == 0 {
		return p, nil, fmt.Errorf("enter lab host: want --pid of a host and a command")
	}
	return p, fs.Args(), nil
}

// EnterMain is the hidden subcommand lab-enter: it moves into an emulated
// host and becomes the command that args name, with stdin and stdout as they
// are. It returns only on error, with the exit status.
func EnterMain(args []string) int {
	err := enter(args)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func enter(args []string) error {
	p, command, err := parsePlace(args)
	if err != nil {
		return err
	}
	// Groups first: their tree may differ inside.
	for _, c := range p.cgroups {
		if err := c.Join(os.Getpid()); err != nil {
			return fmt.Errorf("enter lab host %s: %w", p.host, err)
		}
	}
	if err := kernel.JoinNamespaces(p.pid, p.start); err != nil {
		return fmt.Errorf("enter lab host %s: %w", p.host, err)
	}
	if err := kernel.SetAffinity(p.cpus); err != nil {
		return fmt.Errorf("enter lab host %s: %w", p.host, err)
	}
	return kernel.Replace(command, wire.WithEnv(kernel.AdminEnv(os.Environ()), labEnv+"="+p.lab, hostEnv+"="+p.host))
}

func formatCPUs(cpus []int) string {
	var s []string
	for _, c := range cpus {
		s = append(s, strconv.Itoa(c))
	}
	return strings.Join(s, ",")
}

func parseCPUs(s string) ([]int, error) {
	var cpus []int
	for f := range strings.SplitSeq(s, ",") {
		c, err := strconv.Atoi(f)
		if err != nil || c < 0 {
			return nil, fmt.Errorf("parse CPU list %q", s)
		}
		cpus = append(cpus, c)
	}
	return cpus, nil
}
