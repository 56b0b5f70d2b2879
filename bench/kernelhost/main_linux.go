package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// options are the flags of the bench.
type options struct {
	netem  bool
	only   string
	uids   string
	window time.Duration
	binary string
	record string
	keep   bool
	faults string
	rate   string
}

// insideEnv tells the second start of the bench that it is in namespaces of
// its own, and where its work directory is.
const insideEnv = "KERNELHOST_WORK"

func main() {
	if role := guestRole(); role != "" {
		guestMain(role)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == copierArg {
		copierMain(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == labArg {
		labMain(os.Args[2:])
		return
	}
	o := parseFlags()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if work := os.Getenv(insideEnv); work != "" {
		err = inside(ctx, o, work)
	} else {
		err = outside(ctx, o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "kernelhost: %v\n", err)
		os.Exit(1)
	}
}

func parseFlags() options {
	var o options
	flag.BoolVar(&o.netem, "netem", false, "run the loop inside one kernel, over a netem link")
	flag.StringVar(&o.only, "only", "", "comma-separated conditions; empty is all")
	flag.StringVar(&o.uids, "uids", "1000,0", "user ids to run explain as")
	flag.DurationVar(&o.window, "window", 12*time.Second, "how long each copy is measured when explain is not run (-binary none)")
	flag.StringVar(&o.binary, "binary", "", "linerate binary; empty builds one, none leaves explain out")
	flag.StringVar(&o.record, "record", "", "directory that gets a recorded tree of the client during a copy")
	flag.BoolVar(&o.keep, "keep", false, "keep the work directory with kernel logs and everything that was printed")
	flag.StringVar(&o.faults, "faults", "none,loss,window,sendbuf,slow-link,mtu,app,cpu", "with -netem: the faults")
	flag.StringVar(&o.rate, "rate", "400Mbit", "with -netem: rate of the link")
	flag.Parse()
	return o
}

// outside prepares a work directory and starts the bench again in network,
// mount and process namespaces of its own. The process namespace ends every
// kernel with it, however it ends.
func outside(ctx context.Context, o options) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("make namespaces and taps: run as root")
	}
	if err := findKernel(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "kernelhost-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("work directory:", work)
	} else {
		defer os.RemoveAll(work)
	}
	if err := buildLinerate(ctx, o, work); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"="+work)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start in namespaces of its own: %w", err)
	}
	go func() { // Ctrl-C reaches a process of one's own group anyway; SIGTERM does not.
		<-ctx.Done()
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("did not finish: %w", err)
	}
	return nil
}

// buildLinerate puts the binary under test into the work directory.
func buildLinerate(ctx context.Context, o options, work string) error {
	target := filepath.Join(work, "linerate")
	switch o.binary {
	case "none":
		return nil
	case "":
		cmd := exec.CommandContext(ctx, "go", "build", "-o", target, "linerate/cmd/linerate")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build linerate: %w\n%s", err, out)
		}
		return nil
	}
	return copyFile(o.binary, target)
}

// inside is the bench in its own namespaces.
func inside(ctx context.Context, o options, work string) error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if o.netem {
		return runNetem(ctx, o, work)
	}
	return runNFS(ctx, o, work)
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' })
}
