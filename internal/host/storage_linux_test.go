package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/load/shape"
	"linerate/internal/load/storage"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/unit"
)

func storageTask(path string) worker.Task {
	return worker.Task{Deadline: time.Minute, Block: &storage.BlockTask{Name: "test", Fill: true, Spec: block.Spec{
		Path: path, Threads: 1, Depth: 4, Engine: block.Calls, Sync: block.None, Duration: 200 * time.Millisecond, Seed: 1,
		Shape: shape.Shape{Pattern: shape.Random, Read: 0.5, Sizes: []shape.SizeShare{{Size: 4096, Share: 1}}, Arrivals: shape.Closed},
	}}}
}

func emptyFile(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return path
}

// Two hosts whose clocks are 5 s apart begin at one instant.
func TestStorageBeginsTogether(t *testing.T) {
	t.Setenv(clockEnv, "5s")
	a, _ := dial(t, "client1")
	t.Setenv(clockEnv, "")
	b, _ := dial(t, "client2")
	var loads []*Worker
	var parties []measure.Party
	for _, c := range []*Client{a, b} {
		l, err := c.Start(t.Context(), storageTask(emptyFile(t, 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		loads, parties = append(loads, l), append(parties, l)
	}
	start, err := measure.Together(t.Context(), parties, 0, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if off := start.Clocks["client1"].Offset; (off - 5*time.Second).Abs() > start.Clocks["client1"].Error {
		t.Errorf("clock of client1 is %v off, want 5s", off)
	}
	// Were the clocks not taken into account, it would be 5 s.
	if start.Spread > time.Second {
		t.Errorf("they began within %v", start.Spread)
	}
	for _, l := range loads {
		r, err := l.Finished(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m := r.Block; m == nil || m.Result.Reads == 0 || m.Result.Writes == 0 || m.Result.ReadLatency.Count() == 0 || m.Witness.Null <= 0 || m.Filled == "" || m.Result.Took <= 0 {
			t.Errorf("%+v", m)
		}
	}
}

// A load that is told to end before its time says what it has measured.
func TestStorageInterrupted(t *testing.T) {
	c, _ := dial(t, "here")
	task := storageTask(emptyFile(t, 1<<20))
	task.Block.Spec.Duration = time.Minute
	l, err := c.Start(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := measure.Together(t.Context(), []measure.Party{l}, 0, time.Now); err != nil {
		t.Fatal(err)
	}
	for w := (worker.Work{}); w.Requests == 0; { // until it has done something
		if w, err = l.Seen(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := l.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := l.Finished(t.Context())
	if err != nil || !r.Interrupted || r.Block.Result.Reads == 0 {
		t.Errorf("%v: %+v", err, r)
	}
}

// What the user has to change is told as such, and nothing is left of jobs.
func TestStorageRefusesAndCleansUp(t *testing.T) {
	c, _ := dial(t, "here")
	path := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(path, []byte(strings.Repeat("somebody's data ", 1<<12)), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := c.Start(t.Context(), storageTask(path))
	if err != nil {
		t.Fatal(err)
	}
	_, err = measure.Together(t.Context(), []measure.Party{l}, 0, time.Now)
	if err == nil || !strings.Contains(err.Error(), "nothing was started: here: ") || !strings.Contains(err.Error(), "--destroy "+path) {
		t.Errorf("%v", err)
	}
	for _, bad := range []func(*worker.Task){
		func(t *worker.Task) { t.Block.Spec.Path = "f" }, func(t *worker.Task) { t.Deadline = 0 }, func(t *worker.Task) { t.Block = nil },
		func(t *worker.Task) { t.Jobs = &storage.JobsTask{Dir: "/"} }, func(t *worker.Task) { t.Block.Spec.Engine = block.Null },
	} {
		task := storageTask(path)
		bad(&task)
		if _, err := c.Start(t.Context(), task); err == nil {
			t.Errorf("an agent takes on %+v", task)
		}
	}
	dir := t.TempDir()
	jobs, err := dialect.Iozone([]string{"-i", "0", "-i", "1", "-+n", "-r", "64k", "-s", "1m", "-t", "2"})
	if err != nil {
		t.Fatal(err)
	}
	if l, err = c.Start(t.Context(), worker.Task{Jobs: &storage.JobsTask{Dir: dir, Jobs: jobs}, Deadline: time.Minute}); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if _, err := measure.Together(t.Context(), []measure.Party{l}, 0, time.Now); err != nil {
			t.Fatal(err)
		}
		r, err := l.Finished(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if moved := unit.Bytes(r.Block.Result.ReadBytes + r.Block.Result.WrittenBytes); moved != 2*unit.MiB {
			t.Errorf("%s moved %v", j.Name, moved)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left: %v", left, err)
	}
}
