package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"linerate/internal/app"
	"linerate/internal/app/check"
	"linerate/internal/fleet"
)

// brokerRole in the environment makes this program what an operator starts: an ordinary
// nats-server with the configuration in its directory, until stdin ends.
const brokerRole = "SITE_TEST_NATS"

func natsServer() error {
	o, err := server.ProcessConfigFile("nats-server.conf")
	if err != nil {
		return err
	}
	o.NoSigs, o.NoLog = true, true
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	defer s.Shutdown()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startNATS starts a broker with the files of a directory.
func startNATS(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Dir, cmd.Stderr, cmd.Env = dir, t.Output(), append(os.Environ(), brokerRole+"=1")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() }) // it may have been killed
	return cmd
}

// ownServers are three places for brokers, with room for where they meet.
func ownServers(t *testing.T) (out []string) {
	t.Helper()
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close() // it is only to be free
		}
	}()
	for port := 20000 + os.Getpid()%20000; len(out) < 3; port++ {
		a, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		held = append(held, a)
		b, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+2000))
		if err != nil {
			continue
		}
		held = append(held, b)
		out = append(out, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	return out
}

// A site whose brokers an operator runs gives the same answers with three of them and with two,
// and who is revoked is let in by none.
func TestSiteOverItsOwnCluster(t *testing.T) {
	ctl := machine(t)
	servers := ownServers(t)
	up := make(chan string, 1)
	stop := begin(t, func(ctx context.Context) error {
		return Serve(ctx, ctl, Options{Site: "lab", Servers: servers, Serving: func(url string) { up <- url }}, quiet{t})
	})
	var dirs []string
	for _, s := range servers {
		dirs = append(dirs, filepath.Join(ctl.Getenv("XDG_STATE_HOME"), "linerate-sites/lab/nats", strings.Replace(strings.TrimPrefix(s, "nats://"), ":", "-", 1)))
	}
	for _, d := range dirs {
		until(t, "the files of a broker are not there", func() bool {
			all, err := os.ReadDir(d)
			n := 0
			for _, f := range all {
				i, err := f.Info()
				if err == nil && i.Mode().Perm() == 0o600 && !strings.HasSuffix(f.Name(), ".new") {
					n++
				}
			}
			return err == nil && n == 4
		})
	}
	var brokers []*exec.Cmd
	for _, d := range dirs {
		brokers = append(brokers, startNATS(t, d))
	}
	<-up
	until(t, "the desk does not answer", func() bool { _, err := Hosts(t.Context(), ctl, ""); return err == nil })
	all := imitate(t, ctl, 4, func() {})
	answers := func() (string, bool) {
		c, err := check.Run(t.Context(), ctl, check.Options{Site: "all"}, quiet{t})
		if err != nil || len(c.Lost) > 0 || len(c.Hosts) != len(all) {
			return fmt.Sprintf("%+v, %v", c.Lost, err), false
		}
		b, err := json.Marshal(c.Groups)
		return string(b), err == nil
	}
	before, ok := answers()
	if !ok {
		t.Fatal(before)
	}
	if err := brokers[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = brokers[0].Wait() // how it ended is known
	until(t, "with two brokers the answers are not those of three", func() bool {
		got, ok := answers()
		return ok && got == before
	})
	for name, c := range map[string]fleet.Credential{"a host": all[1].cred, "a controller": controllerOf(t, ctl)} {
		if !denied(t, c, "$SYS.REQ.CLAIMS.UPDATE") || !denied(t, c, "$SYS.REQ.SERVER.PING") {
			t.Errorf("%s may speak to the brokers themselves", name)
		}
	}
	if _, err := Revoke(t.Context(), ctl, "", "n000"); err != nil {
		t.Fatal(err)
	}
	until(t, "a host that was revoked is let in", func() bool {
		nc, err := all[0].cred.Connect("revoked")
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	if nc, err := all[1].cred.Connect("not revoked"); err != nil {
		t.Errorf("another is not let in: %v", err)
	} else {
		nc.Close()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// controllerOf is what the site gives a command.
func controllerOf(t *testing.T, ctl app.Env) fleet.Credential {
	t.Helper()
	c, err := ctl.Reach(quiet{t}).Desk(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() // it has answered
	cred, err := c.Controller(t.Context(), "ada", false)
	if err != nil {
		t.Fatal(err)
	}
	return cred
}

// denied tells whether the brokers let somebody publish nothing to a subject.
func denied(t *testing.T, c fleet.Credential, subject string) bool {
	t.Helper()
	errs, closed := make(chan error, 8), make(chan struct{})
	nc, err := c.Connect("test", nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(nc.Publish(subject, []byte("{}")), nc.Flush()); err != nil {
		t.Fatal(err)
	}
	nc.Close() // what was refused was said before the answer to the flush
	<-closed
	close(errs)
	for err := range errs {
		if strings.Contains(strings.ToLower(err.Error()), "publish") {
			return true
		}
	}
	return false
}
