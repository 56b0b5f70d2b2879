// Command copy holds linerate copy against cp, rsync and rclone, on one host, in turns:
// every round runs each of them on the same files, with the source dropped from the page
// cache, the target removed, and syncfs of the target in the time. It prints medians, the
// ratio of the rates in each round, and the CPU of the program with its children; what the
// kernel's own threads take (writeback) is not in it, for any of them.
//
//	go run ./bench/copy -dir /var/tmp
//	go run ./bench/copy -faults 100 -dir /var/tmp
//
// With -faults it kills copies at random instants, fills their target and changes their
// source instead, and looks at every file that has its name. Programs that are not there
// are left out, by name.
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
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"linerate/bench/kit"
)

func main() {
	dir := flag.String("dir", "/var/tmp", "where source and target lie")
	rounds := flag.Int("rounds", 5, "rounds of each row")
	size := flag.Int("mib", 1024, "of the large file")
	files := flag.Int("files", 5000, "of 16 KiB")
	faults := flag.Int("faults", 0, "so many cases of faults instead")
	seed := flag.Uint64("seed", 1, "of the order, of the data and of the faults")
	flag.Parse()
	b := &bench{rounds: *rounds, mib: *size, files: *files, rand: rand.New(rand.NewPCG(*seed, 0))}
	kit.Main("copy", func(ctx context.Context) error {
		return kit.WithUser(ctx, *dir, "", func(u kit.User) error {
			b.User = u
			b.src, b.dst = filepath.Join(u.Home, "src"), filepath.Join(u.Home, "dst")
			if *faults > 0 {
				return b.faults(ctx, *faults)
			}
			return b.run(ctx)
		})
	})
}

type bench struct {
	kit.User
	rounds, mib, files int
	rand               *rand.Rand
	src, dst           string
}

// arm is one program.
type arm struct {
	name string
	argv func(b *bench) []string
}

var arms = []arm{
	{"linerate copy", func(b *bench) []string { return []string{b.Binary, "copy", b.src + "/", b.dst} }},
	{"linerate copy --verify full", func(b *bench) []string { return []string{b.Binary, "copy", "--verify", "full", b.src + "/", b.dst} }},
	{"cp -a", func(b *bench) []string { return []string{"cp", "-a", b.src + "/.", b.dst} }},
	{"rsync -aHAXS", func(b *bench) []string { return []string{"rsync", "-aHAXS", b.src + "/", b.dst} }},
	{"rclone copy -M", func(b *bench) []string {
		return []string{"rclone", "--config", "/dev/null", "copy", "-M", "--links", b.src, b.dst}
	}},
}

// figures are of one run.
type figures struct{ took, cpu time.Duration }

func (b *bench) run(ctx context.Context) error {
	var there []arm
	for _, a := range arms {
		if _, err := exec.LookPath(a.argv(b)[0]); err != nil {
			fmt.Printf("%s is not installed: left out\n\n", a.argv(b)[0])
			continue
		}
		there = append(there, a)
	}
	rows := []struct {
		name string
		fill func() (int64, error)
	}{
		{fmt.Sprintf("one file of %d MiB", b.mib), func() (int64, error) { return b.large() }},
		{fmt.Sprintf("%d files of 16 KiB", b.files), func() (int64, error) { return b.small() }},
	}
	for _, r := range rows {
		n, err := r.fill()
		if err != nil {
			return err
		}
		if err := b.row(ctx, r.name, n, there); err != nil {
			return err
		}
	}
	return nil
}

// row runs all arms in turns and prints their table.
func (b *bench) row(ctx context.Context, name string, bytes int64, there []arm) error {
	all := make([][]figures, len(there))
	before, _, err := kit.ReadCPU()
	if err != nil {
		return err
	}
	for range b.rounds {
		for _, i := range b.rand.Perm(len(there)) {
			f, err := b.once(ctx, there[i])
			if err != nil {
				return fmt.Errorf("%s: %w", there[i].name, err)
			}
			all[i] = append(all[i], f)
		}
	}
	after, _, err := kit.ReadCPU()
	if err != nil {
		return err
	}
	cpu := after.Since(before)
	fmt.Printf("%s, %d rounds; %.0f%% of the machine's CPU was busy, %.0f%% stolen\n\n", name, b.rounds, 100*cpu.Share(cpu.Busy), 100*cpu.Share(cpu.Stolen))
	kit.Head(os.Stdout, "program", "MB/s", "linerate's rate over it", "CPU-s/GB")
	for i, a := range there {
		var rate, load, ratio []float64
		for j, f := range all[i] {
			rate = append(rate, float64(bytes)/1e6/f.took.Seconds())
			load = append(load, f.cpu.Seconds()/(float64(bytes)/1e9))
			ratio = append(ratio, f.took.Seconds()/all[0][j].took.Seconds())
		}
		fmt.Printf("| %s | %.0f | %s | %.2f |\n", a.name, kit.Median(rate), kit.Spread(ratio), kit.Median(load))
	}
	fmt.Println()
	return nil
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
	begun := time.Now()
	if _, err := kit.Output(cmd); err != nil {
		return f, err
	}
	if err := syncfs(b.dst); err != nil {
		return f, err
	}
	f.took = time.Since(begun)
	f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
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
func (b *bench) large() (int64, error) {
	if err := errors.Join(os.RemoveAll(b.src), os.Mkdir(b.src, 0o755)); err != nil {
		return 0, err
	}
	return b.write(filepath.Join(b.src, "large"), int64(b.mib)<<20)
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
func (b *bench) small() (sum int64, err error) {
	if err := os.RemoveAll(b.src); err != nil {
		return 0, err
	}
	for i := range b.files {
		dir := filepath.Join(b.src, fmt.Sprintf("d%03d", i/500))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
		n, err := b.write(filepath.Join(dir, strings.Repeat("f", 8)+fmt.Sprint(i)), 16<<10)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
