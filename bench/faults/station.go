package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
	"linerate/internal/lab"
)

// station is one place where cases are made.
type station struct {
	kit.User
	dir     string // a tmpfs: the binary, and Home with all state, which is another
	n       int
	moments *rand.Rand
	pids    map[int]bool      // of every process of the station that was seen in this case
	first   map[string]string // the settings before the case changed any
	begun   time.Time         // when the case changed something first
	kernel  bool              // the lab with a kernel of its own is up
}

// stateSize is of the file system that has all state: bundles, journals, and two copies of the
// binary. It is small, so that it is soon full.
const stateSize = "160m"

// stationMain makes the cases that it reads and prints what came of them.
func stationMain(ctx context.Context, n int, binary, dir string) error {
	s := &station{dir: dir, n: n, pids: map[int]bool{}}
	if err := s.furnish(ctx, binary); err != nil {
		return fmt.Errorf("make station %d: %w", n, err)
	}
	stop, err := s.serveSSH(ctx)
	if err != nil {
		return fmt.Errorf("make station %d: %w", n, err)
	}
	defer stop()
	return s.Lab(ctx, []string{"wan-16ms"}, func(lab.Status) error {
		if _, err := s.Run(ctx, "lab", "fault", "add", "rcv-window-sysctl"); err != nil {
			return err
		}
		return s.serve(ctx, os.Stdin, os.Stdout)
	})
}

func (s *station) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() && ctx.Err() == nil {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		s.moments = rand.New(rand.NewPCG(o.Seed, 17))
		got, err := s.one(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", o, err)
		}
		if err := json.NewEncoder(out).Encode(got); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err(), ctx.Err())
}

// furnish makes the station's own places: nothing that is written here reaches the machine.
func (s *station) furnish(ctx context.Context, binary string) error {
	s.Home = filepath.Join(s.dir, "home")
	groups := filepath.Join(s.dir, "groups")
	for _, argv := range [][]string{
		{"mount", "--make-rprivate", "/"},
		{"mount", "-t", "tmpfs", "-o", "mode=700", "station", s.dir},
		{"mkdir", s.Home, groups},
		{"mount", "-t", "tmpfs", "-o", "mode=700,size=" + stateSize, "state", s.Home},
		{"mkdir", "-m", "755", filepath.Join(s.Home, "varlib"), filepath.Join(s.Home, "data"), filepath.Join(s.Home, "tmp"), filepath.Join(s.dir, "bin")},
		{"mount", "--bind", filepath.Join(s.Home, "varlib"), "/var/lib"},
		// The interfaces below /sys are those of the namespace that mounted it.
		{"mount", "--rbind", "/sys/fs/cgroup", groups},
		{"mount", "-t", "sysfs", "sysfs", "/sys"},
		{"mount", "--rbind", groups, "/sys/fs/cgroup"},
		{"umount", "-l", groups},
		{"mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"},
		{"mkdir", "-m", "755", "/run/sshd"},
		{"ip", "link", "set", "lo", "up"},
		{"cp", binary, filepath.Join(s.dir, "bin", "linerate")},
	} {
		if err := kit.Do(ctx, argv...); err != nil {
			return err
		}
	}
	s.Binary = filepath.Join(s.dir, "bin", "linerate")
	for name, value := range map[string]string{"PATH": filepath.Join(s.dir, "bin") + ":" + os.Getenv("PATH"), "TMPDIR": filepath.Join(s.Home, "tmp")} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if err := s.makeSource(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.Home, "study.yaml"), []byte(studyText), 0o600)
}

// serveSSH runs a real sshd for the name server1, and puts an ssh that knows it on PATH.
func (s *station) serveSSH(ctx context.Context) (stop func(), err error) {
	dir := filepath.Join(s.dir, "ssh")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for _, key := range []string{"host_key", "user_key"} {
		if err := kit.Do(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(dir, key)); err != nil {
			return nil, err
		}
	}
	pub, err := os.ReadFile(filepath.Join(dir, "host_key.pub"))
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"ssh/known_hosts": "127.0.0.1 " + string(pub),
		"ssh/sshd_config": fmt.Sprintf(`ListenAddress 127.0.0.1:22
HostKey %[1]s/host_key
AuthorizedKeysFile %[1]s/user_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
SetEnv HOME=%[2]s TMPDIR=%[2]s/tmp
`, dir, s.Home),
		"ssh/ssh_config": fmt.Sprintf(`Host *
  HostName 127.0.0.1
  User root
  IdentityFile %[1]s/user_key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile %[1]s/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
`, dir),
		"bin/ssh": fmt.Sprintf("#!/bin/sh\nexec /usr/bin/ssh -F %s/ssh_config \"$@\"\n", dir),
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil {
			return nil, err
		}
	}
	return s.startSSHD()
}

// startSSHD returns once the server listens.
func (s *station) startSSHD() (stop func(), err error) {
	cmd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(s.dir, "ssh", "sshd_config"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, by design
	}
	r := bufio.NewReader(said)
	for {
		line, err := r.ReadString('\n')
		if strings.Contains(line, "Server listening") {
			go func() { _, _ = io.Copy(io.Discard, r) }() // it ends with sshd
			return stop, nil
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("sshd does not listen: %q: %w", line, err)
		}
	}
}
