package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/load"
	"linerate/internal/failure"
	"linerate/internal/unit"
)

// fileFlags is the command line of load file.
type fileFlags struct {
	like, threads, record, size string
	tests                       []string
	direct, durable, flush      bool
	on                          string
	stuck                       time.Duration
	ram                         unit.Bytes
}

func loadFileCommand(env *environment) *cobra.Command {
	var f fileFlags
	cmd := &cobra.Command{
		Use:   "file DIR",
		Short: "Write and read files as iozone does, for one or several numbers of threads",
		Long: `file runs iozone's write, read and random tests in a directory: each thread has a
file of its own, and each test is one pass over it. It does what load iozone does, for
a range of thread counts, and prints a table of them at the end. It makes the files in
a directory of their own below DIR, and removes it.

With --on every host runs this many threads, and all hosts begin each test at the same
instant.`,
		Example: `  linerate load file /mnt/nas --like iozone -t 1..5 -r 4k -s 4g
  linerate load file /mnt/nas --like iozone -t 1 -r 1m -s 4g --on client1,client2,client3
  linerate load file /mnt/nas --like iozone -i 0 -i 1 -i 2 -t 4 -r 64k -s 1g -I --json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			jobs, err := f.jobs()
			if err != nil {
				return err
			}
			return runJobs(cmd, env, load.JobsOptions{Jobs: jobs, Dir: args[0], Stuck: f.stuck, Memory: f.ram}, f.on, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.like, "like", "iozone", "whose tests: iozone")
	flags.StringVarP(&f.threads, "threads", "t", "1", "threads, each with a file: a number, or a range as 1..5")
	flags.StringVarP(&f.record, "record", "r", "4k", "size of a request")
	flags.StringVarP(&f.size, "size", "s", "512k", "size of each file")
	flags.StringArrayVarP(&f.tests, "test", "i", nil, "0 (write, rewrite), 1 (read, reread) or 2 (random); may be repeated; default 0 and 1")
	flags.BoolVarP(&f.direct, "direct", "I", false, "past the page cache (O_DIRECT)")
	flags.BoolVarP(&f.durable, "durable", "o", false, "every write is durable before it completes (O_DSYNC)")
	flags.BoolVarP(&f.flush, "flush", "e", false, "a sync after the last write is part of the time")
	onFlag(cmd, &f.on, "DIR is a path on each of them, and --threads are of each")
	stuckFlag(cmd, &f.stuck)
	ramFlag(cmd, &f.ram)
	return completeFlags(cmd, map[string][]string{"like": {"iozone"}, "test": {"0", "1", "2"}}, "threads", "record", "size")
}

// jobs are the tests for each number of threads.
func (f fileFlags) jobs() (out []load.Job, err error) {
	if f.like != "iozone" {
		return nil, failure.Of(failure.Usage, "--like %s: only iozone; see linerate load vdbench and linerate load filebench for others", f.like)
	}
	from, to, isRange := strings.Cut(f.threads, "..")
	least, err := strconv.Atoi(from)
	most := least
	if err == nil && isRange {
		most, err = strconv.Atoi(to)
	}
	if err != nil || least < 1 || most < least || most > 64 {
		return nil, failure.Of(failure.Usage, "--threads %s: want a number from 1 to 64, or a range as 1..5", f.threads)
	}
	tests := f.tests
	if len(tests) == 0 {
		tests = []string{"0", "1"}
	}
	args := []string{"-r", f.record, "-s", f.size}
	for _, t := range tests {
		args = append(args, "-i", t)
	}
	for flag, on := range map[string]bool{"-I": f.direct, "-o": f.durable, "-e": f.flush} {
		if on {
			args = append(args, flag)
		}
	}
	for n := least; n <= most; n++ {
		jobs, err := load.Iozone(append(slices.Clone(args), "-t", strconv.Itoa(n)))
		if err != nil {
			return nil, failure.As(failure.Usage, err)
		}
		for _, j := range jobs {
			if isRange {
				j.Name = fmt.Sprintf("%s, %s", j.Name, unit.Count(n, "thread"))
			}
			out = append(out, j)
		}
	}
	return out, nil
}
