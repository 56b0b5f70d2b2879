package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/load"
	"linerate/internal/failure"
	"linerate/internal/report/document"
)

func loadVdbenchCommand(env *environment) *cobra.Command {
	var maps []string
	var o load.JobsOptions
	cmd := &cobra.Command{
		Use:   "vdbench PARMFILE",
		Short: "Run a vdbench parameter file",
		Long: `vdbench runs the workloads of a vdbench parameter file: hd, sd, wd, fsd, fwd and rd
with lists, ranges, skew, rates and intervals. It refuses what it does not know, by name and
line. The luns must exist. It makes the files of an fsd in a directory of their own below the
anchor, and removes them at the end. --map names the target that stands for a lun, an anchor
or a system of the file. The result says how each word was understood.

It reaches hosts of hd= as those of --on; all make the same load and share its rate.`,
		Example: `  linerate load vdbench dell-8k.parm --map '\\.\PhysicalDrive1=/dev/sdb' --destroy /dev/sdb
  linerate load vdbench mine.parm --size 1g --for 30s --json
  linerate load vdbench files.parm --map /fs1=/mnt/nas --map client1.example=client1`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := load.VdbenchOptions{Size: o.Size}
			var err error
			if v.Map, err = mapFlag(maps, "NAME"); err != nil {
				return err
			}
			text, err := readText(args[0])
			if err != nil {
				return err
			}
			runs, err := load.Vdbench(text, v)
			if err != nil {
				return failure.Of(failure.Usage, "%s: %w", args[0], err)
			}
			o.Jobs, o.Dir = runs.Jobs, runs.Dir
			return runJobs(cmd, env, o, strings.Join(runs.Hosts, ","), args)
		},
	}
	cmd.Flags().StringArrayVar(&maps, "map", nil, "NAME=HERE: what stands for a lun, an anchor or a system of the file; may be repeated")
	cmd.Flags().StringArrayVar(&o.Destroy, "destroy", nil, "name the target again: its data may be destroyed; may be repeated")
	bytesFlag(cmd, &o.Size, "size", "use so much of every target, whatever the file says")
	timeFlag(cmd, &o.For, "for", "measure so long, whatever the file says")
	cmd.Flags().BoolVar(&o.Fill, "fill", false, "write the blocks that were never written first")
	stuckFlag(cmd, &o.Stuck)
	ramFlag(cmd, &o.Memory)
	return completeFlags(cmd, nil)
}

func loadIozoneCommand(env *environment) *cobra.Command {
	var o load.JobsOptions
	var on string
	cmd := &cobra.Command{
		Use:   "iozone DIR -- OPTION…",
		Short: "Run iozone's write, read and random tests by its own options",
		Long: `iozone runs the tests 0 (write, rewrite), 1 (read, reread) and 2 (random) by
iozone's options, which follow --: -i, -r, -s, -t, -I, -o, -e and -+n; -a with -n, -g, -y
and -q; and -+m with a file of clients, which it reaches as --on does. It refuses options
that it does not know. It makes the files in a directory of their own below DIR, and
removes that at the end.

Without -I, and with files that fit into memory, the figures are those of the page cache,
as with iozone itself: the result says so.`,
		Example: `  linerate load iozone /mnt/nas -- -i 0 -i 1 -r 4k -s 4g -t 4 -e
  linerate load iozone /mnt/nas -- -a -i 0 -i 1 -n 64m -g 1g
  linerate load iozone /mnt/nas -- -+m clients.txt -t 2 -i 0 -i 1 -r 1m -s 4g
  linerate load iozone /mnt/nas --on client1,client2 -- -i 0 -i 1 -r 1m -s 4g
  linerate load iozone /mnt/nas --json -- -i 0 -i 1 -i 2 -r 1m -s 1g -I`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := cluster(args[0], args[1:], &on)
			if err != nil {
				return err
			}
			if o.Jobs, err = load.Iozone(options); err != nil {
				return failure.As(failure.Usage, err)
			}
			o.Dir = args[0]
			return runJobs(cmd, env, o, on, args)
		},
	}
	onFlag(cmd, &on, "DIR is a path on each of them")
	stuckFlag(cmd, &o.Stuck)
	ramFlag(cmd, &o.Memory)
	return completeFlags(cmd, nil)
}

// cluster reads the file of clients that iozone's options name, if they do: on gets its
// hosts, and what is returned are the options for each of them.
func cluster(dir string, args []string, on *string) ([]string, error) {
	file, rest, err := load.IozoneClients(args)
	if err != nil || file == "" {
		return rest, failure.As(failure.Usage, err)
	}
	text, err := readText(file)
	if err != nil {
		return nil, err
	}
	c, err := load.IozoneCluster(text)
	if err != nil {
		return nil, failure.Of(failure.Usage, "%s: %w", file, err)
	}
	switch {
	case *on != "":
		return nil, failure.Of(failure.Usage, "--on and -+m both name the hosts: choose one")
	case filepath.Clean(c.Dir) != filepath.Clean(dir):
		return nil, failure.Of(failure.Usage, "%s says that clients work in %s, and %s was named: name that", file, c.Dir, dir)
	}
	*on = strings.Join(c.Hosts, ",")
	rest, err = c.Options(rest)
	return rest, failure.As(failure.Usage, err)
}

func loadFilebenchCommand(env *environment) *cobra.Command {
	var o load.JobsOptions
	cmd := &cobra.Command{
		Use:   "filebench DIR WORKLOADFILE",
		Short: "Run a filebench workload file whose threads read or write files",
		Long: `filebench runs a workload file in which threads read or write files, one operation
each, as singlestreamread.f, singlestreamwrite.f, fivestreamread.f and randomrw.f do.
What makes, opens or deletes files (fileserver.f, webserver.f, varmail.f) and what it
does not know it refuses by line. The files are made in a directory of their own below
DIR, which is removed at the end.`,
		Example: `  linerate load filebench /mnt/nas singlestreamread.f --for 60s
  linerate load filebench /mnt/nas singlestreamwrite.f --size 20g`,
		Args: usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readText(args[1])
			if err != nil {
				return err
			}
			j, err := load.Filebench(text, cmp.Or(o.For, time.Minute))
			if err != nil {
				return failure.Of(failure.Usage, "%s: %w", args[1], err)
			}
			o.Jobs, o.Dir = []load.Job{j}, args[0]
			return runJobs(cmd, env, o, "", args)
		},
	}
	bytesFlag(cmd, &o.Size, "size", "make the file so large, whatever the workload file says")
	timeFlag(cmd, &o.For, "for", "measure so long, whatever the workload file says; default there and else 60s")
	stuckFlag(cmd, &o.Stuck)
	ramFlag(cmd, &o.Memory)
	return completeFlags(cmd, nil)
}

func loadFioCommand(env *environment) *cobra.Command {
	var maps []string
	var o load.JobsOptions
	var on string
	cmd := &cobra.Command{
		Use:   "fio JOBFILE",
		Short: "Run a job file of fio",
		Long: `fio runs the jobs of a fio job file: the options that say where requests go, how large
they are, how many are in flight and for how long. What it does not know it refuses by
name and line. Jobs that run at once must be alike but for name, file and size; the
others stand behind stonewall.

Files are made in a directory of their own below --dir, or below the file's directory=,
and removed at the end. A filename= that begins with / must exist, unless --dir is given;
--map says what stands for one that this host does not have.`,
		Example: `  linerate load fio randread.fio --dir /mnt/nas
  linerate load fio disk.fio --map /dev/nvme0n1=/dev/sdb --for 30s
  linerate load fio randread.fio --dir /mnt/nas --on client1,client2 --json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := mapFlag(maps, "NAME")
			if err != nil {
				return err
			}
			text, err := readText(args[0])
			if err != nil {
				return err
			}
			jobs, err := load.Fio(text, load.FioOptions{Map: paths, InDir: o.Dir != ""})
			if err != nil {
				return failure.Of(failure.Usage, "%s: %w", args[0], err)
			}
			o.Jobs, o.Dir = jobs.Jobs, cmp.Or(o.Dir, jobs.Dir)
			if o.Dir == "" && jobs.Make {
				return failure.Of(failure.Usage, "%s does not say where its files are to be made: add --dir DIR", args[0])
			}
			return runJobs(cmd, env, o, on, args)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "make every file below this directory, whatever the job file says")
	cmd.Flags().StringArrayVar(&maps, "map", nil, "NAME=PATH: what stands for a filename=; may be repeated")
	cmd.Flags().StringArrayVar(&o.Destroy, "destroy", nil, "name the target again: its data may be destroyed; may be repeated")
	bytesFlag(cmd, &o.Size, "size", "use so much of every target, whatever the file says")
	timeFlag(cmd, &o.For, "for", "measure so long, where the file has a runtime, whatever that is")
	cmd.Flags().BoolVar(&o.Fill, "fill", false, "write the blocks that were never written first")
	onFlag(cmd, &on, "--dir is a path on each of them")
	stuckFlag(cmd, &o.Stuck)
	ramFlag(cmd, &o.Memory)
	return completeFlags(cmd, nil)
}

// mapFlag reads what stands for a target; kind names the targets in messages.
func mapFlag(maps []string, kind string) (map[string]string, error) {
	out := map[string]string{}
	for _, m := range maps {
		from, path, ok := strings.Cut(m, "=")
		if !ok || from == "" || path == "" {
			return nil, failure.Of(failure.Usage, "--map %s: want %s=PATH", m, kind)
		}
		out[from] = path
	}
	return out, nil
}

// readText reads a parameter file; dialect bounds its size.
// maxParameters bounds what is read of a file for another generator, in bytes.
const maxParameters = 1 << 20

func readText(path string) (string, error) {
	b, err := app.ReadFile(path, maxParameters)
	if err != nil {
		return "", fmt.Errorf("read parameter file: %w", err)
	}
	return string(b), nil
}

// runJobs makes the runs of a command. People read each when it is over.
func runJobs(cmd *cobra.Command, env *environment, o load.JobsOptions, on string, args []string) (err error) {
	path := o.Dir
	for _, j := range o.Jobs {
		for _, t := range j.Targets {
			if o.Dir == "" && (path == "" || !filepath.IsAbs(t.Path)) {
				path = t.Path
			}
		}
	}
	if o.On, err = onHosts(on, path); err != nil {
		return err
	}
	each := func(one load.JobResult) error {
		if env.json {
			return nil
		}
		d := document.Document{Sections: []document.Section{jobSection(one)}}
		if err := printDocument(env, d); err != nil {
			return err
		}
		err := env.out.Printf("\n")
		return err
	}
	return makeLoad(env, "load "+cmd.Name()+" "+strings.Join(args, " "), func(p app.Progress) (*load.Made, error) {
		return load.Jobs(cmd.Context(), env.Env, o, p, each)
	})
}
