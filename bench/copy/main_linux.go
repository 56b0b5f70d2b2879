// Command copy holds linerate copy against cp, rsync, scp, rclone, mbuffer, xrdcp and iperf3, in
// turns: every round runs each of them on the same files, with the source dropped from the
// page cache, the target removed, and syncfs of the target in the time. Copies between hosts
// go to an sshd of its own on the loopback, at 16 ms and from and to mounts of NFS and SMB in
// labs. It prints medians, the ratio of the rates in each round, and the CPU of both ends,
// which is that of a control group; what the kernel's own threads take (writeback) is not in
// it, for any of them.
//
//	go run ./bench/copy -dir /var/tmp
//	go run ./bench/copy -only tree -tree 1000000 -dir /dev/shm
//	go run ./bench/copy -only "10g" -programs rsync
//	go run ./bench/copy -faults 1000 -labs 10 -dir /var/tmp
//	go run ./bench/copy -faults 100 -seed 8 -portions cases.json    # one of several that add up
//
// With -faults it kills copies at random instants, spoils what is on the wire, fills their
// target, changes their source and more instead, and looks at every file that has its name.
// Programs that are not there are left out, by name: rsync, openssh-server, mbuffer, xrootd-server,
// xrootd-client and iperf3 are packages of Debian, rclone comes by go install github.com/rclone/rclone@latest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"
)

func main() {
	dir := flag.String("dir", "/var/tmp", "where source and target lie; not below /dev, which hosts with a kernel of their own do not see")
	rounds := flag.Int("rounds", 3, "rounds of each row")
	size := flag.Int("mib", 1024, "of the large file; a quarter of it by ssh over 16 ms")
	files := flag.Int("files", 5000, "of 16 KiB; a fifth of them over 16 ms")
	many := flag.Int("tree", 100000, "empty files of the tree on which memory is looked at")
	only := flag.String("only", "", "the parts, or with -faults the kinds, whose names match this expression; parts: "+strings.Join(partNames(), ", "))
	programs := flag.String("programs", "", "of the others only those whose names match this expression, e.g. rsync: some take an hour for 20000 files over 16 ms")
	binary := flag.String("binary", "", "a linerate that is there; default: this tree's is built")
	faults := flag.Int("faults", 0, "so many cases of faults instead")
	labs := flag.Int("labs", 0, "with -faults: so many cases of each kind that takes a lab")
	portions := flag.String("portions", "", "with -faults: a `FILE` to which the cases are added, and of which the sum is printed; each run takes its own -seed")
	seed := flag.Uint64("seed", 1, "of the order, of the data and of the faults")
	quota := flag.Int("quota-kib", -1, "set nobody's quota on -dir and end, which this program asks of itself within a lab; 0: no bound")
	flag.Parse()
	if *quota >= 0 {
		kit.Main("copy", func(context.Context) error { return setQuota(*dir, uint64(*quota)) })
		return
	}
	b := &bench{rounds: *rounds, mib: *size, files: *files, manyFiles: *many, labs: *labs, portionsAt: *portions, seed: *seed, rand: rand.New(rand.NewPCG(*seed, 0))}
	kit.Main("copy", func(ctx context.Context) error {
		wanted, err := regexp.Compile(*only)
		if err != nil {
			return fmt.Errorf("read -only: %w", err)
		}
		if b.programs, err = regexp.Compile(*programs); err != nil {
			return fmt.Errorf("read -programs: %w", err)
		}
		return kit.WithUser(ctx, *dir, *binary, func(u kit.User) error {
			b.User = u
			b.src, b.dst = filepath.Join(u.Home, "src"), filepath.Join(u.Home, "dst")
			if *faults > 0 {
				return b.faults(ctx, *faults, wanted)
			}
			return b.run(ctx, wanted)
		})
	})
}

type bench struct {
	kit.User
	rounds, mib, files, labs int
	portionsAt               string // "": none are added up
	seed                     uint64
	manyFiles                int // files of the tree
	rand                     *rand.Rand
	programs                 *regexp.Regexp // which of the others run
	src, dst                 string
	disks                    string  // where disks are mounted that both ends see
	far                      *far    // nil: no sshd
	xrootd                   *xrootd // nil: none runs
	fresh                    bool    // the source is as it was made
	group                    *group
	out                      map[string]bool // what was left out
	link                     string          // of the lab that is up
	injected                 int             // faults that were put into it
}

// figures are of one run.
type figures struct {
	took, cpu time.Duration
	memory    int64 // the most that one process had to itself
}

// part is some rows that belong together.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

// over16ms is a part over a line of this rate and 16 ms.
func over16ms(name, rate string, run func(b *bench, ctx context.Context, rate string) error) part {
	return part{name, func(b *bench, ctx context.Context) error { return run(b, ctx, rate) }}
}

// parts are all, in the order in which they are run.
func parts() []part {
	return []part{
		{"hostile", (*bench).hostile}, {"here", (*bench).hereRows}, {"ssh", (*bench).sshRows}, {"mem", (*bench).memory},
		{"resume", (*bench).resume}, {"tree", (*bench).many},
		over16ms("wan", gigabit, (*bench).wan), over16ms("wan 10g", tenGigabit, (*bench).wan), over16ms("mem 10g", tenGigabit, (*bench).memoryOver),
		onMounts("nfs", "200us", 300, 40), onMounts("smb", "200us", 300, 40), onMounts("nfs", "16ms", 40, 20), onMounts("smb", "16ms", 40, 20),
	}
}

func partNames() (names []string) {
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

// run runs the parts. One that cannot be had is named, and the others go on.
func (b *bench) run(ctx context.Context, wanted *regexp.Regexp) (err error) {
	b.group = newGroup(fmt.Sprintf("linerate-bench-%d", os.Getpid()))
	defer func() { err = errors.Join(err, b.group.remove()) }()
	if b.group == nil {
		fmt.Print("CPU and memory are not shown: no control group can be made here (as root it can)\n\n")
	}
	far, ferr := startFar(ctx, b.User, b.group)
	if ferr == nil {
		defer far.stop()
		b.far = far
	} else {
		fmt.Printf("no sshd: %v\n\n", ferr)
	}
	control, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control") // not told: empty
	if withoutJournal(b.Home) {
		fmt.Printf("%s lies on an ext4 without a journal, on which making files may cost all programs many times as much once others were deleted: rows of small files say more on another file system (-dir).\n\n", b.Home)
	}
	fmt.Printf("Congestion control of all on the loopback: %s\n\n", strings.TrimSpace(string(control)))
	var failed []error
	for _, p := range parts() {
		if !wanted.MatchString(p.name) {
			continue
		}
		if err := p.run(b, ctx); err != nil {
			fmt.Printf("%s: not to be had: %v\n\n", p.name, err)
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// withoutJournal tells whether a path lies on an ext4 that has none.
func withoutJournal(path string) bool {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(path, &fs) != nil || fs.Type != unix.EXT4_SUPER_MAGIC || unix.Stat(path, &st) != nil {
		return false
	}
	device, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return false
	}
	found, err := filepath.Glob("/proc/fs/jbd2/" + filepath.Base(device) + "-*")
	return err == nil && len(found) == 0
}

func (b *bench) hereRows(ctx context.Context) error { return b.twoRows(ctx, "here", here()) }

func (b *bench) sshRows(ctx context.Context) error {
	if b.far == nil {
		return errors.New("there is no sshd")
	}
	stop := b.serveXrootd(ctx)
	defer stop()
	return b.twoRows(ctx, "by ssh over the loopback", bySSH())
}

// twoRows are one large file, and many small ones.
func (b *bench) twoRows(ctx context.Context, where string, arms []arm) error {
	n, err := b.large(b.mib)
	if err != nil {
		return err
	}
	if err := b.row(ctx, fmt.Sprintf("%s, one file of %d MiB", where, b.mib), n, 1, b.once, arms); err != nil {
		return err
	}
	if n, err = b.small(b.files, 16<<10); err != nil {
		return err
	}
	return b.row(ctx, fmt.Sprintf("%s, %d files of 16 KiB", where, b.files), n, b.files, b.once, arms)
}

// row runs all arms in turns and prints their table. An arm that fails is named, and left out
// from then on.
func (b *bench) row(ctx context.Context, name string, bytes int64, files int, once func(context.Context, arm) (figures, error), arms []arm) error {
	arms = b.present(arms)
	all := make([][]figures, len(arms))
	failed := make([]bool, len(arms))
	before, _, err := kit.ReadCPU()
	if err != nil {
		return err
	}
	for range b.rounds {
		for _, i := range b.rand.Perm(len(arms)) {
			if failed[i] || arms[i].argv(b) == nil {
				continue
			}
			f, err := once(ctx, arms[i])
			if err != nil && (i == 0 || ctx.Err() != nil) {
				return fmt.Errorf("%s: %w", arms[i].name, err)
			}
			if err != nil {
				b.leaveOut(arms[i].name, err.Error())
				failed[i] = true
				continue
			}
			all[i] = append(all[i], f)
		}
	}
	after, _, err := kit.ReadCPU()
	if err != nil {
		return err
	}
	cpu := after.Since(before)
	fmt.Printf("**%s**, %d rounds; %.0f%% of the machine's CPU was busy, %.0f%% stolen\n\n", name, b.rounds, 100*cpu.Share(cpu.Busy), 100*cpu.Share(cpu.Stolen))
	unit := "MB/s"
	if files > 1 {
		unit = "files/s"
	}
	kit.Head(os.Stdout, "program", unit, "linerate's rate over it", "CPU-s/GB, both ends", "most MiB of a process")
	for i, a := range arms {
		if len(all[i]) == b.rounds {
			printArm(a.name, bytes, files, all[i], all[0])
		}
	}
	fmt.Println()
	return nil
}

func printArm(name string, bytes int64, files int, runs, first []figures) {
	var rate, load, ratio []float64
	memory := int64(0)
	for j, f := range runs {
		each := float64(bytes) / 1e6
		if files > 1 {
			each = float64(files)
		}
		rate = append(rate, each/f.took.Seconds())
		load = append(load, f.cpu.Seconds()/(float64(bytes)/1e9))
		ratio = append(ratio, f.took.Seconds()/first[j].took.Seconds())
		memory = max(memory, f.memory)
	}
	used, held := kit.None, kit.None
	if kit.MedianOrZero(load) > 0 {
		used = fmt.Sprintf("%.2f", kit.MedianOrZero(load))
	}
	if memory > 0 {
		held = fmt.Sprint(memory >> 20)
	}
	fmt.Printf("| %s | %.0f | %s | %s | %s |\n", name, kit.MedianOrZero(rate), kit.Spread(ratio), used, held)
}

// once runs one program on a cold source and an absent target.
func (b *bench) once(ctx context.Context, a arm) (f figures, err error) {
	if err := errors.Join(os.RemoveAll(b.dst), os.Mkdir(b.dst, 0o755), b.settle()); err != nil {
		return f, err
	}
	argv := a.argv(b)
	cmd := b.Command(ctx, argv[1:]...)
	if cmd.Path, err = exec.LookPath(argv[0]); err != nil {
		return f, err
	}
	b.group.into(cmd)
	before, _ := b.group.cpu() // said once where there is none
	memory := b.group.anonymous(ctx)
	begun := time.Now()
	_, err = kit.Output(cmd)
	f.memory = memory()
	if err != nil {
		return f, err
	}
	if err := syncfs(b.dst); err != nil {
		return f, err
	}
	f.took = time.Since(begun)
	after, _ := b.group.cpu()
	f.cpu = after - before
	return f, nil
}

// settle makes everything durable and drops the source from the page cache.
func (b *bench) settle() error {
	if err := syncfs(b.src); err != nil {
		return err
	}
	return filepath.WalkDir(b.src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
	})
}

func syncfs(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// large makes the source one file that cannot be compressed.
func (b *bench) large(mib int) (int64, error) {
	if err := errors.Join(os.RemoveAll(b.src), os.Mkdir(b.src, 0o755)); err != nil {
		return 0, err
	}
	return b.write(filepath.Join(b.src, "large"), int64(mib)<<20)
}

// write makes a file of random bytes.
func (b *bench) write(path string, size int64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	block := make([]byte, 1<<20)
	for left := size; left > 0; {
		for i := 0; i < len(block); i += 8 {
			x := b.rand.Uint64()
			for j := range 8 {
				block[i+j] = byte(x >> (8 * j))
			}
		}
		n := min(left, int64(len(block)))
		if _, err := f.Write(block[:n]); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		left -= n
	}
	return size, f.Close()
}

// small makes the source many files, 500 to a directory.
func (b *bench) small(files int, size int64) (int64, error) { return b.smallIn(files, 500, size) }

func (b *bench) smallIn(files, each int, size int64) (sum int64, err error) {
	if err := os.RemoveAll(b.src); err != nil {
		return 0, err
	}
	for i := range files {
		dir := filepath.Join(b.src, fmt.Sprintf("d%03d", i/each))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
		n, err := b.write(filepath.Join(dir, strings.Repeat("f", 8)+fmt.Sprint(i)), size)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
