package inlab

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/sshtest"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// sshInLab starts a real sshd in server1 and returns the ssh command that reaches it from client1.
func sshInLab(t testing.TB, l *lab.Lab) []string {
	t.Helper()
	dir := t.TempDir()
	config := sshtest.Server{
		Dir: dir, Addr: l.Addr("server1").String(), Port: 2222, Enter: l.Enter("server1"),
		Env: "TMPDIR=" + dir + " " + asProgram + "=1",
	}.Start(t)
	return append(l.Enter("client1"), "/usr/bin/ssh", "-F", config)
}

// One end is reached by the system's ssh over the emulated link, the other by
// entering its namespaces; the loop knows no difference.
func TestTheLoopRunsOverARealSSH(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		l := bareLab(t, "window")
		ssh := host.Ssh{Command: sshInLab(t, l), Binary: func(string, string) (string, error) { return os.Executable() }}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		name, err := host.ParseName(l.Addr("server1").String())
		if err != nil {
			t.Fatal(err)
		}
		far, err := ssh.Reach(ctx, name, []netip.Addr{l.Addr("server1")})
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		near := host.Endpoint{Name: "client1", Argv: l.Enter("client1"), Self: []string{exe}, StateDir: l.StateDir("client1")}
		var ends []loop.End
		var behind *host.Client // ssh
		for _, ep := range []host.Endpoint{near, far} {
			c, err := host.Dial(ctx, ep, host.Options{Log: func(s string) { t.Log(s) }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
			ends = append(ends, loop.End{Name: ep.Name, Agent: c})
			behind = c
		}
		ends[0].Addr, ends[1].Addr = l.Addr("client1"), l.Addr("server1")
		timing := loop.DefaultTiming()
		timing.Diagnosis = 3 * time.Second
		pass := loop.Loop{
			Sender: ends[0], Receiver: ends[1], Workload: model.Workload{Streams: 1, CC: "cubic"},
			LineRate: model.Known(unit.Gbit), Timing: timing, Now: time.Now,
		}
		rec, err := pass.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if v := rec.Results.Verdict; v.Limiter != model.ReceiverWindow || v.Fix.Host != ends[1].Name {
			t.Errorf("named %s at %s: %s", v.Limiter, v.Fix.Host, v.Line)
		}
		if n := len(rec.Results.Runs[0].Samples[ends[1].Name]); n < 10 {
			t.Errorf("%d samples of the host behind ssh", n)
		}
		// What the audit asks for, too, is that host's own.
		files, err := behind.Files(ctx)
		if limit := files.Now["net.ipv4.tcp_rmem"]; err != nil || !strings.HasSuffix(limit, " 262144") {
			t.Errorf("behind ssh tcp_rmem is %q; %v", limit, err)
		}
	})
}
