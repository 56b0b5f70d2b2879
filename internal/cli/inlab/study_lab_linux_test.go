package inlab

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

const labStudy = `v: 1
name: cable
question: what does the bent connector cost?
hosts: {client: lab:client1, server: lab:server1}
factors:
  - name: connector
    operator: true
    levels:
      - name: bent
        instruct: put the cable with the bent connector in
        back: put the good cable back
        lab: link:client1-server1 rate=200Mbit
workloads:
  - {name: bulk, senders: [client], receivers: [server], seconds: 0.5, warmup: 300ms}
primary: bulk
protocol: {name: linerate, design: one-at-a-time, looks: [6], aa: 0}
`

// The lab does what an operator's hands would do: nobody is asked, the effect is
// there, a controller that is killed with the fault in leaves it listed as the
// study's, and resume takes it out and goes on.
func TestStudyWithLabAsOperator(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	labtest.Tries(t, 3, func(t testing.TB) {
		u := newLabUser(t, 0)
		u.run(t, "lab", "up", "back-to-back")
		if new := u.run(t, "lab", "fault", "list", "--json"); !strings.Contains(new, `"faults": []`) {
			t.Fatalf("a new lab has %v", new)
		}
		file := filepath.Join(u.dir, "cable.yaml")
		if err := os.WriteFile(file, []byte(labStudy), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := u.command("study", "run", file, "--yes", "--seed", "5")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := strings.Builder{}
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), "connector bent") && strings.Contains(lines.Text(), ": run ") {
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("it ended before it was killed: %s", said.String())
		}
		var doc struct{ Faults []lab.Injected }
		if err := json.Unmarshal([]byte(u.run(t, "lab", "fault", "list", "--json")), &doc); err != nil {
			t.Fatal(err)
		}
		left := doc.Faults
		if len(left) != 1 || left[0].By == "" {
			t.Fatalf("killed with the connector in: %+v", left)
		}
		var s model.Study
		if err := json.Unmarshal([]byte(u.run(t, "study", "resume", "last", "--json")), &s); err != nil {
			t.Fatal(err)
		}
		c := s.Comparisons[0]
		if !s.Restored || !s.Complete || c.Conclusion != model.StudyLoss || c.Ratio == nil || *c.Ratio > 0.5 {
			t.Errorf("restored %v, complete %v, %+v", s.Restored, s.Complete, c)
		}
		if now := u.run(t, "lab", "fault", "list", "--json"); !strings.Contains(now, `"faults": []`) {
			t.Errorf("left in the lab: %s", now)
		}
	})
}
