package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// xrootd is a server of this bench alone, without encryption and without a login, as sites have it within
// their own network. It does not run as root, so that the targets of its copies are everybody's.
type xrootd struct {
	cmd  *exec.Cmd
	port int
}

// startXrootd starts one that serves all below a directory.
func startXrootd(ctx context.Context, home string, g *group) (*xrootd, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(home, "xrootd")
	if err := errors.Join(os.Chmod(home, 0o711), os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o777)); err != nil {
		return nil, err
	}
	conf := fmt.Sprintf("xrd.port %d\nall.export %s\nall.adminpath %s\nall.pidpath %s\n", port, home, dir, dir)
	file := filepath.Join(dir, "conf")
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		return nil, err
	}
	x := &xrootd{cmd: exec.CommandContext(ctx, "xrootd", "-R", "daemon", "-c", file, "-l", filepath.Join(dir, "log")), port: port}
	g.into(x.cmd)
	if err := x.cmd.Start(); err != nil {
		return nil, err
	}
	for range 200 {
		var c net.Conn
		if c, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return x, c.Close()
		}
		time.Sleep(50 * time.Millisecond) // it says nowhere but in its log that it listens
	}
	x.stop()
	return nil, fmt.Errorf("xrootd does not listen: %w", err)
}

func (x *xrootd) stop() {
	if x != nil {
		_ = x.cmd.Process.Kill() // it may have ended
		_ = x.cmd.Wait()         // it was killed
	}
}

// serveXrootd has one run for xrdcp, where it is installed and asked for, until stop.
func (b *bench) serveXrootd(ctx context.Context) (stop func()) {
	_, err := exec.LookPath("xrootd")
	if err != nil || !b.programs.MatchString("xrdcp") {
		return func() {}
	}
	if b.xrootd, err = startXrootd(ctx, b.Home, b.group); err != nil {
		b.leaveOut("xrdcp", err.Error())
	}
	return func() {
		b.xrootd.stop()
		b.xrootd = nil
	}
}

// xrdcp copies to it; nil: it does not run.
func xrdcp(b *bench) []string {
	if b.xrootd == nil {
		return nil
	}
	return []string{"sh", "-c", `chmod 777 "$1" && exec xrdcp -f -N -s -r -S 4 --parallel 4 "$0/." "root://127.0.0.1:$2/$1/"`, b.src, b.dst, fmt.Sprint(b.xrootd.port)}
}
