package inlab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

const killedStudy = `v: 1
name: killed
question: is everything put back?
hosts: {client: lab:client1, server: lab:server1}
baseline:
  - {name: keepalive, set: {client: {linux.sysctl.net.ipv4.tcp_mtu_probing: 1}}}
factors:
  - name: rmem
    levels:
      - {name: tiny, set: {server: {linux.sysctl.net.ipv4.tcp_rmem: 4096 16384 65536}, client: {linux.sysctl.net.ipv4.tcp_rmem: 4096 16384 65536}}}
workloads:
  - {name: bulk, senders: [client], receivers: [server], seconds: 0.5, warmup: 200ms}
primary: bulk
protocol: {name: linerate, design: one-at-a-time, looks: [8], aa: 1}
`

// The controller is killed in the middle of a treated run: resume puts back what it
// left, makes the runs that are missing and no other, and leaves everything as it
// was.
func TestStudyIsKilledAndResumed(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", "wan-16ms")
		file := filepath.Join(u.dir, "killed.yaml")
		if err := os.WriteFile(file, []byte(killedStudy), 0o600); err != nil {
			t.Fatal(err)
		}
		values := func() string {
			return u.run(t, "lab", "exec", "server1", "--", "cat", receiveLimits) + u.run(t, "lab", "exec", "client1", "--", "cat", receiveLimits, "/proc/sys/net/ipv4/tcp_mtu_probing")
		}
		found := values()

		cmd := u.command("study", "run", file, "--yes", "--seed", "5")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		treated, said := 0, strings.Builder{}
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if !strings.Contains(lines.Text(), "rmem tiny") || !strings.Contains(lines.Text(), ": run ") {
				continue
			}
			if treated++; treated == 2 { // the first is on record
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if err := cmd.Wait(); treated < 2 {
			t.Fatalf("it ended before (%v): %s", err, said.String())
		}
		if now := values(); now == found {
			t.Errorf("killed in the middle of a treated run, and nothing is changed: %s", now)
		}
		resumed := u.command("study", "resume", "last", "--json")
		var stdout, told bytes.Buffer
		resumed.Stdout, resumed.Stderr = &stdout, &told
		if err := resumed.Run(); err != nil {
			t.Fatalf("%v: %s", err, told.String())
		}
		var s model.Study
		if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if now := values(); now != found || !s.Restored {
			t.Errorf("restored %v: %s, was %s", s.Restored, now, found)
		}
		first := strings.Count(told.String(), ": run ")
		if len(s.Runs) <= first || !s.Complete {
			t.Errorf("%d runs, %d of them after the kill, complete %v (%s)", len(s.Runs), first, s.Complete, s.Ended)
		}
		for i, r := range s.Runs {
			if r.N != i+1 {
				t.Errorf("run %d is called %d", i+1, r.N)
			}
		}
	})
}
