package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"linerate/bench/kit"
)

// far is an sshd of this bench alone, on a port of the loopback, and a program called ssh
// that goes there: what a copy takes for another host.
type far struct {
	cmd  *exec.Cmd
	bin  string // directory of that ssh
	port int
}

// startFar starts sshd with keys of its own.
func startFar(ctx context.Context, u kit.User, g *group) (*far, error) {
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd" // not in every PATH
	}
	dir := filepath.Join(u.Home, "far")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "bin"), 0o755), os.MkdirAll("/run/sshd", 0o755)); err != nil {
		return nil, err
	}
	for _, k := range []string{"host", "user"} {
		if err := kit.Do(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, k)); err != nil {
			return nil, err
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		return nil, err
	}
	conf := fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nUsePAM no\n"+
		"PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nPrintMotd no\nMaxStartups 100\nSubsystem sftp internal-sftp\n", port, dir, dir)
	client := fmt.Sprintf("Host *\nHostName 127.0.0.1\nPort %d\nIdentityFile %s/user\nIdentitiesOnly yes\nIdentityAgent none\nBatchMode yes\n"+
		"UserKnownHostsFile %s/known\nGlobalKnownHostsFile /dev/null\nCiphers aes128-gcm@openssh.com\n", port, dir, dir)
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "sshd_config"), []byte(conf), 0o644), os.WriteFile(filepath.Join(dir, "ssh_config"), []byte(client), 0o644),
		os.WriteFile(filepath.Join(dir, "known"), []byte(fmt.Sprintf("[127.0.0.1]:%d %s", port, key)), 0o644),
		os.WriteFile(filepath.Join(dir, "bin", "ssh"), []byte(fmt.Sprintf("#!/bin/sh\nexec %s -F %s/ssh_config \"$@\"\n", ssh, dir)), 0o755))
	if err != nil {
		return nil, err
	}
	// The user's own shell may do anything at its start, and slowly: for this sshd it is sh.
	passwd := fmt.Sprintf("root:x:0:0::%s:/bin/sh\nsshd:x:65533:65533::/run/sshd:/usr/sbin/nologin\n", dir)
	if err := os.WriteFile(filepath.Join(dir, "passwd"), []byte(passwd), 0o644); err != nil {
		return nil, err
	}
	const start = `mount --bind "$1/passwd" /etc/passwd && exec "$0" -D -f "$1/sshd_config"`
	f := &far{cmd: exec.CommandContext(ctx, "unshare", "-m", "--propagation", "slave", "sh", "-c", start, sshd, dir), bin: filepath.Join(dir, "bin"), port: port}
	g.into(f.cmd)
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	for range 100 {
		if err = kit.Do(ctx, filepath.Join(f.bin, "ssh"), farHost, "true"); err == nil {
			return f, nil
		}
		time.Sleep(50 * time.Millisecond) // sshd says nowhere that it listens
	}
	f.stop()
	return nil, err
}

// farHost is the name of this host, as it is reached by that ssh.
const farHost = "127.0.0.1"

// name is the host to copy to: without sshd an agent that is started here.
func (f *far) name() string {
	if f == nil {
		return "localhost"
	}
	return farHost
}

// family is what sshd has started.
func (f *far) family() []int {
	if f == nil {
		return nil
	}
	return family(f.cmd.Process.Pid)[1:]
}

func (f *far) stop() {
	for _, pid := range f.family() {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended
		}
	}
	_ = f.cmd.Process.Kill() // likewise
	_ = f.cmd.Wait()         // it was killed
}

// env has that ssh found first.
func (f *far) env(env []string) []string {
	if f == nil {
		return env
	}
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			return append(env, "PATH="+f.bin+":"+p)
		}
	}
	return append(env, "PATH="+f.bin)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("no TCP address")
	}
	return a.Port, l.Close()
}

// Command is the program with arguments, for which ssh leads to the bench's own sshd.
func (b *bench) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := b.User.Command(ctx, args...)
	cmd.Env = b.far.env(cmd.Env)
	return cmd
}
