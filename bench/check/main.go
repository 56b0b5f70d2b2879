// Command check times `linerate check` on this machine, as root and as an
// ordinary user, and holds it against the faults of the lab that only hosts with
// kernels of their own can have: whether each is found while it is there, and
// nothing while nothing is wrong.
//
//	go run ./bench/check -n 20          # as root; -labs=false times only
//
// It only starts the program and reads what it prints.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	n := flag.Int("n", 20, "times that this machine is looked at")
	labs := flag.Bool("labs", true, "set the faults of hosts with kernels of their own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *n, *labs, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench/check:", err)
		os.Exit(1)
	}
}

type bench struct{ binary, dir string }

func run(ctx context.Context, n int, labs bool, w io.Writer) error {
	dir, err := os.MkdirTemp("/var/tmp", "linerate-bench-") // hosts of labs have a /tmp of their own
	if err != nil {
		return fmt.Errorf("make a place for the binary: %w", err)
	}
	defer os.RemoveAll(dir)
	b := bench{filepath.Join(dir, "linerate"), dir}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "./cmd/linerate").CombinedOutput(); err != nil {
		return fmt.Errorf("build linerate: %w\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	fmt.Fprintf(w, "| looked at as | times | median | longest | not seen |\n|---|---|---|---|---|\n")
	for _, uid := range []uint32{0, 65534} {
		if err := b.time(ctx, w, n, uid); err != nil {
			return err
		}
	}
	if !labs {
		return nil
	}
	fmt.Fprintf(w, "\n| fault | on | found by | while it is there | before and after |\n|---|---|---|---|---|\n")
	return b.storage(ctx, w)
}

type answer struct {
	Hosts []struct {
		Name     string `json:"name"`
		Findings []struct {
			Rule     string `json:"rule"`
			Severity string `json:"severity"`
		} `json:"findings"`
		CouldNotSee []struct {
			What string `json:"what"`
		} `json:"could_not_see"`
	} `json:"hosts"`
}

// time looks at this machine n times.
func (b bench) time(ctx context.Context, w io.Writer, n int, uid uint32) error {
	var took []time.Duration
	var a answer
	for range n {
		cmd := b.command(ctx, "check", "--watch", "0", "--json")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		started := time.Now()
		if err := b.answer(cmd, &a); err != nil {
			return err
		}
		took = append(took, time.Since(started))
	}
	slices.Sort(took)
	var blind []string
	for _, c := range a.Hosts[0].CouldNotSee {
		blind = append(blind, c.What)
	}
	fmt.Fprintf(w, "| uid %d | %d | %v | %v | %s |\n", uid, n, took[n/2].Round(time.Millisecond), took[n-1].Round(time.Millisecond), strings.Join(append(blind, "–")[:max(1, len(blind))], ", "))
	return nil
}

// storageFaults are those of kernels, each with the host it is put into and the
// rule that must tell of it.
func storageFaults() [][3]string {
	return [][3]string{
		{"nfs-few-threads mild", "client2", "nfsd-threads-few"},
		{"nfs-few-slots severe", "client1", "nfs-slots"},
		{"nfs-small-transfer mild", "client1", "nfs-transfer-small"},
		{"nfs-sync-writes on", "client1", "nfs-sync"},
		{"smb-signing on", "client1", "smb-signed"},
		{"smb-small-transfer mild", "client1", "smb-transfer-small"},
		{"iscsi-queue-depth mild", "client1", "iscsi-queue-short"},
		{"iscsi-small-request medium", "client1", "disk-request-small"},
		{"small-read-ahead medium", "client1", "nfs-readahead-small"},
	}
}

// storage brings up a client with NFS, SMB and iSCSI over 10 ms and sets the
// faults one by one.
func (b bench) storage(ctx context.Context, w io.Writer) (err error) {
	if _, err := b.run(ctx, "lab", "up", "nas", "--kernel", "client1,client2", "--serve", "nas1=smb", "--serve", "client2=nfs,iscsi"); err != nil {
		return err
	}
	defer func() {
		_, down := b.run(context.WithoutCancel(ctx), "lab", "down", "--all")
		err = errors.Join(err, down)
	}()
	if _, err := b.run(ctx, "lab", "fault", "add", "link:client1-switch", "delay=5ms"); err != nil {
		return err
	}
	logins, err := filepath.Glob(filepath.Join(b.dir, "run/linerate/*/nas1/server-smb/login"))
	if err != nil || len(logins) != 1 {
		return fmt.Errorf("find the SMB login: %d, %w", len(logins), err)
	}
	mount := `mkdir -p /mnt/nfs /mnt/smb && mount -i -t nfs -o vers=4.2,addr=10.60.0.2 10.60.0.2:/share /mnt/nfs &&
mount -t cifs -o credentials="$0",addr=10.60.0.100 //10.60.0.100/share /mnt/smb && modprobe -a iscsi_tcp sd_mod &&
iscsistart -i iqn.2026-01.lab.linerate:client1 -t iqn.2026-01.lab.linerate:share -g 1 -a 10.60.0.2 -p 3260 &&
for i in $(seq 100); do ls /sys/block | grep -q ^sd && exit; sleep 0.1; done; exit 1`
	if _, err := b.run(ctx, "lab", "exec", "client1", "--", "sh", "-c", mount, logins[0]); err != nil {
		return err
	}
	for _, f := range storageFaults() {
		if err := b.fault(ctx, w, f[0], f[1], f[2]); err != nil {
			return err
		}
	}
	return nil
}

// fault sets one and looks before, while and after.
func (b bench) fault(ctx context.Context, w io.Writer, fault, host, rule string) error {
	before, err := b.rules(ctx, host)
	if err != nil {
		return err
	}
	words := append([]string{"lab", "fault", "add", "--json"}, append(strings.Fields(fault), "at", "host:"+host)...)
	var in struct {
		Number int `json:"number"`
	}
	out, err := b.run(ctx, words...)
	if err == nil {
		err = json.Unmarshal(out, &in)
	}
	if err != nil {
		return err
	}
	during, err := b.rules(ctx, host)
	if err != nil {
		return err
	}
	if _, err := b.run(ctx, "lab", "fault", "remove", fmt.Sprint(in.Number)); err != nil {
		return err
	}
	after, err := b.rules(ctx, host)
	if err != nil {
		return err
	}
	costly := func(m map[string]string) (n int) {
		for _, severity := range m {
			if severity != "info" {
				n++
			}
		}
		return n
	}
	severity := during[rule]
	if severity == "" {
		severity = "NOT FOUND"
	}
	fmt.Fprintf(w, "| `%s` | %s | `%s` | %s | %d, %d findings |\n", fault, host, rule, severity, costly(before), costly(after))
	return nil
}

// rules are those that speak of a host, with their severities.
func (b bench) rules(ctx context.Context, host string) (map[string]string, error) {
	var a answer
	err := b.answer(b.command(ctx, "lab", "exec", host, "--", b.binary, "check", "--watch", "0", "--json", "--line-rate", "1Gbit", "--rtt", "10ms"), &a)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, f := range a.Hosts[0].Findings {
		out[f.Rule] = f.Severity
	}
	return out, nil
}

func (b bench) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.binary, args...)
	run := filepath.Join(b.dir, "run")
	_ = os.MkdirAll(run, 0o700) // the program says so where it is missing
	cmd.Env, cmd.Dir = append(os.Environ(), "XDG_RUNTIME_DIR="+run, "HOME="+b.dir), "/"
	return cmd
}

func (b bench) answer(cmd *exec.Cmd, into *answer) error {
	out, err := output(cmd)
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err == nil && len(into.Hosts) != 1 {
		err = fmt.Errorf("%d hosts, want one", len(into.Hosts))
	}
	return err
}

func (b bench) run(ctx context.Context, args ...string) ([]byte, error) {
	return output(b.command(ctx, args...))
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args[1:], " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
