package tune

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"linerate/internal/kernel"
)

// The records work on this file system too, by this system's own processes.
func TestStatisticsOnThisFileSystem(t *testing.T) {
	root, err := os.MkdirTemp("", "linerate") // wine refuses the call by which a test's own directory is removed
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(root) }() // what wine refuses, its prefix takes with it
	h, dir := windowsTCP(), filepath.Join(root, "state", "statistics")
	own, err := kernel.ProcessBegan(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	s := Statistics{Dir: dir, PID: os.Getpid(), Start: own, Began: kernel.ProcessBegan, Now: time.Now}
	watchUntil(t, h, s, 2+2*21)
	if notes, err := s.putBackOn(h); err != nil || len(notes) > 0 || h.On() != 21 {
		t.Fatalf("of this process: %v %v, %d groups on", notes, err, h.On())
	}
	earlier := s
	earlier.Start = own - 1 // a process that had this number before
	for range 2 {
		watchUntil(t, windowsTCP(), earlier, 2+2*21)
	}
	if err := s.Keep(nil); err != nil || !slices.Equal(files(t, dir), []string{statisticsRecord{PID: s.PID, Start: own - 1}.name()}) {
		t.Fatalf("%v, records %v", err, files(t, dir))
	}
	if notes, err := s.putBackOn(h); err != nil || len(notes) != 1 || h.On() != 0 || len(files(t, dir)) != 0 {
		t.Errorf("of a dead one: %v %v, %d groups on, records %v", notes, err, h.On(), files(t, dir))
	}
}
