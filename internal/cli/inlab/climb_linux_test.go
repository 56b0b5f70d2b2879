package inlab

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

func (u labUser) climb(t testing.TB, args ...string) (out model.Outcome, said string) {
	t.Helper()
	cmd := u.command(append([]string{"explain", "--json", "--load"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", stderr.String(), out.Verdict.Line)
	for _, r := range out.Ladder {
		t.Logf("%s: predicted %v, measured %v, %s%s", r.Rung, r.Predicted, r.Measured, r.Method, r.How)
	}
	return out, stderr.String()
}

func rungOf(t testing.TB, out model.Outcome, name string) model.Rung {
	t.Helper()
	i := slices.IndexFunc(out.Ladder, func(r model.Rung) bool { return r.Rung == name })
	if i < 0 {
		t.Fatalf("no rung %q", name)
	}
	return out.Ladder[i]
}

// Up to the server's disk: the client has not mounted the directory. The
// prediction of a stream knows of the small window before it runs.
func TestClimbInTheLab(t *testing.T) {
	labtest.Long(t)
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", "wan-16ms")
		s := u.status(t, "wan-16ms")
		from, to := s.Flow.From[0], s.Flow.To
		u.run(t, "lab", "exec", from, "--", "sh", "-c", "echo '4096 131072 262144' >/proc/sys/net/ipv4/tcp_rmem")
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "film"), bytes.Repeat([]byte("x"), 16<<20), 0o644); err != nil {
			t.Fatal(err)
		}
		out, said := u.climb(t, "lab:"+from, "lab:"+to+":"+dir)
		for _, name := range []string{"memory", "local loopback", "one TCP stream", "N TCP streams", "N TCP streams, reverse", "server disk, cached"} {
			if r := rungOf(t, out, name); !r.Seen || r.Measured == nil || *r.Measured <= 0 || r.Method == "" {
				t.Errorf("%+v", r)
			}
		}
		one := rungOf(t, out, "one TCP stream")
		if one.Predicted == nil || !strings.HasPrefix(one.PredictedFrom, "tcp_rmem of lab:"+from+" 256 KiB × ") {
			t.Errorf("one stream was predicted %v from %s", one.Predicted, one.PredictedFrom)
		}
		if out.Verdict.Limiter != model.ReceiverWindow || out.Verdict.Host != "lab:"+from {
			t.Errorf("named %s at %s", out.Verdict.Limiter, out.Verdict.Host)
		}
		disk := rungOf(t, out, "server disk")
		if disk.Seen != strings.Contains(disk.Method, "O_DIRECT") || !disk.Seen && !strings.Contains(disk.How, "O_DIRECT") {
			t.Errorf("server disk: %+v", disk)
		}
		if whole := rungOf(t, out, "whole path"); whole.Seen || !strings.Contains(whole.How, "mount lab:"+to+":"+dir+" on lab:"+from) {
			t.Errorf("whole path: %+v", whole)
		}
		predicted, loaded := strings.Index(said, "one TCP stream: the model predicts"), strings.Index(said, "load: one TCP stream at full speed from lab:"+to)
		if predicted < 0 || loaded < predicted {
			t.Errorf("the prediction is not said before the load:\n%s", said)
		}
	})
}

// A copy runs between the hosts: it is left alone, and judged.
func TestClimbLeavesOthersTheLink(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", "back-to-back")
		addr := u.status(t, "back-to-back").Flow.To
		copyEnd := func(host, role string) *exec.Cmd {
			cmd := u.command("lab", "exec", host, "--", selfPath())
			cmd.Env = append(cmd.Env, copyRole+"="+role)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = stdin.Close() // it is the end of the copy, whatever Close says
				_ = cmd.Wait()
			})
			return cmd
		}
		for _, h := range u.status(t, "back-to-back").Hosts {
			if h.Name == addr {
				addr = h.Data
			}
		}
		sink := copyEnd("server1", "sink "+addr+":7007")
		listening, err := sink.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := listening.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		if err := copyEnd("client1", "source "+addr+":7007").Start(); err != nil {
			t.Fatal(err)
		}
		out, said := u.climb(t, "lab:client1", "lab:server1")
		if strings.Contains(said, "full speed") {
			t.Errorf("the link was loaded:\n%s", said)
		}
		if !slices.ContainsFunc(out.Warnings, func(w model.Warning) bool { return w.ID == "load-stopped" }) {
			t.Errorf("no warning: %+v", out.Warnings)
		}
		for _, name := range []string{"one TCP stream", "N TCP streams", "N TCP streams, reverse"} {
			if r := rungOf(t, out, name); r.Seen || !strings.Contains(r.How, "of other traffic on eth0") {
				t.Errorf("%+v", r)
			}
		}
		// What it says of the copy is the machine's: "undetermined" is an answer too.
		if whole := rungOf(t, out, "whole path"); !whole.Seen || *whole.Measured <= 0 || out.Verdict.Line == "" || len(out.Verdict.Evidence) == 0 {
			t.Errorf("the copy was not judged: %+v, %s", whole, out.Verdict.Line)
		}
	})
}

// A hop between two routers whose MTU is small makes segments small. Whatever else
// holds a busy machine back, that is among the causes, and that hop is named.
func TestClimbNamesTheNarrowHop(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	needRoot(t)
	file := filepath.Join(t.TempDir(), "chain.yaml")
	narrow := strings.NewReplacer("mtu: 1500", "mtu: 576", "1Gbit/s", "100Mbit/s").Replace(twoRouters)
	if err := os.WriteFile(file, []byte(narrow), 0o644); err != nil {
		t.Fatal(err)
	}
	labtest.Tries(t, 3, func(t testing.TB) {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", file)
		out, _ := u.climb(t, "lab:client1", "lab:nas1")
		i := slices.IndexFunc(out.Verdict.Causes, func(c model.Cause) bool { return c.Limiter == model.SmallSegments })
		if i < 0 || !strings.Contains(out.Verdict.Causes[i].Fix.Advice, "raise the MTU between 10.81.1.1 and 10.81.2.2, behind router 1 of 2") {
			t.Errorf("%s: %+v", out.Verdict.Limiter, out.Verdict.Causes)
		}
		if out.Verdict.Where == model.AtPath && !slices.ContainsFunc(out.Verdict.Evidence, func(e model.Evidence) bool { return e.Metric == "path_routers" && e.Value == 2 }) {
			t.Errorf("the routers are not counted: %+v", out.Verdict.Evidence)
		}
	})
}
