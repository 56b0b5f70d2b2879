package facts

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"linerate/internal/kernel/kerneltest"
)

func TestProcessOf(t *testing.T) {
	for _, c := range []struct {
		pid      int
		name     string
		sockets  int
		storage  string // points and devices
		otherNet bool
		kind     error
		says     string
	}{
		{900, "rsync", 2, "/mnt/smb", false, nil, ""}, // a socket and a file of its child's among them
		{910, "dd", 0, "/dev/sdb", false, nil, ""},
		{920, "nginx", 1, "/srv", true, nil, ""},
		{2, "kthreadd", 0, "", false, ErrKernelThread, "name the mount or the disk"},
		{930, "sshd", 0, "", false, ErrPrivate, "as root or as its user"},
		{940, "done", 0, "", false, ErrNoProcess, "no such process"},
		{999, "", 0, "", false, ErrNoProcess, "ps -e"},
	} {
		h := storageHost(t)
		h.Fail["/proc/930/fd"] = fs.ErrPermission
		h.Fail["/mnt"] = errors.New("this would hang")
		got, err := ProcessOf(context.Background(), h, c.pid)
		if c.kind != nil {
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%d: %v, want %v with %q in one line", c.pid, err, c.kind, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d: %v", c.pid, err)
			continue
		}
		var storage []string
		for _, s := range got.Storage {
			if s.Device != "" {
				storage = append(storage, "/dev/"+s.Device)
			} else {
				storage = append(storage, s.Mount.Point)
			}
		}
		if got.Name != c.name || got.Sockets != c.sockets || strings.Join(storage, " ") != c.storage || got.OtherNet != c.otherNet {
			t.Errorf("%d: %+v on %v", c.pid, got, storage)
		}
	}
}

func TestProcessOfOtherSystems(t *testing.T) {
	h := kerneltest.Parse(nil)
	h.GOOS = "illumos"
	if _, err := ProcessOf(context.Background(), h, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v", err)
	}
}
