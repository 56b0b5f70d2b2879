package place

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// Who may write to a directory of somebody else may not set its times, and has changed it all the same.
func TestADirectoryOfSomebodyElseIsChanged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to act as two users")
	}
	const nobody = 65534
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SetfsuidRetUid(nobody)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Setfsuid(before)
	if err := unix.UtimesNanoAt(fd, ".", []unix.Timespec{{}, {}}, 0); err == nil {
		t.Skip("this kernel lets anybody set the times of a directory")
	}
	if err := keepingTimes(fd, func() error { return unix.Mkdirat(fd, "new", 0o700) }); err != nil {
		t.Error(err)
	}
	if err := unix.Fstatat(fd, "new", &unix.Stat_t{}, 0); err != nil {
		t.Error(err)
	}
}

// A journal that another user's copy has left is told from a directory that takes no files.
func TestTheJournalOfAnotherUserIsNamed(t *testing.T) {
	p, _, dir := openPlace(t)
	if err := os.WriteFile(dir+"/"+journal.Name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := p.owned(); said != "" {
		t.Errorf("one's own: %s", said)
	}
	p.uid++
	if said := p.owned(); !strings.Contains(said, journal.Name) {
		t.Errorf("another's: %q", said)
	}
}

// A target that was removed during a copy is not told by the kernel's words alone.
func TestATargetThatWasRemovedIsSaid(t *testing.T) {
	dir := t.TempDir() + "/target"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), journal.Name) {
		t.Error(err)
	}
}
