package inlab

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

const receiveLimits = "/proc/sys/net/ipv4/tcp_rmem"

// A receive buffer is too small for the delay: that is found, proved, kept, and taken
// back by one undo.
func TestFixInTheLab(t *testing.T) {
	labtest.Long(t)
	t.Parallel() // its proof waits for run after run, and a window is a tenth of the rate beside anything
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", "wan-16ms")
		s := u.status(t, "wan-16ms")
		from, to := s.Flow.From[0], s.Flow.To
		u.run(t, "lab", "exec", to, "--", "sh", "-c", "echo '4096 131072 262144' >"+receiveLimits)
		found := u.run(t, "lab", "exec", to, "--", "cat", receiveLimits)
		cmd := u.command("fix", "--json", "--yes", "--seed", "1", "lab:"+from, "lab:"+to)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		t.Log(stderr.String())
		var out model.Outcome
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Steps {
			t.Logf("%s: %s, kept %v", s.Verdict.Line, s.Why, s.Kept)
		}
		if len(out.Steps) == 0 || !out.Steps[0].Kept || out.Steps[0].Verdict.Limiter != model.ReceiverWindow || out.Steps[0].Host != "lab:"+to || !out.Restored {
			t.Errorf("ended %q after %d steps, restored %v", out.Ended, len(out.Steps), out.Restored)
		}
		if now := u.run(t, "lab", "exec", to, "--", "cat", receiveLimits); now == found {
			t.Errorf("tcp_rmem is what it was: %s", now)
		}
		u.run(t, "tune", "undo", "lab:"+to)
		if now := u.run(t, "lab", "exec", to, "--", "cat", receiveLimits); strings.Join(strings.Fields(now), " ") != strings.Join(strings.Fields(found), " ") {
			t.Errorf("after undo tcp_rmem is %s", now)
		}
	})
}
