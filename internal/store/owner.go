package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"linerate/internal/model"
)

// tempPrefix begins the name of an unfinished bundle: .new-<id>.<pid>.<machine>.
const tempPrefix = ".new-"

// owner identifies the writer of a hidden folder. It includes the machine because several
// machines may share a home directory, and a pid is valid only on its own.
type owner struct {
	pid     int
	machine string
}

func self() (owner, error) {
	name, err := os.Hostname()
	if err != nil {
		return owner{}, fmt.Errorf("name the writer of a bundle: %w", err)
	}
	sum := sha256.Sum256([]byte(name))
	return owner{pid: os.Getpid(), machine: hex.EncodeToString(sum[:4])}, nil
}

func (o owner) tempName(id string) string {
	return fmt.Sprintf("%s%s.%d.%s", tempPrefix, id, o.pid, o.machine)
}

// ownerOf parses the owner from a hidden folder's name.
func ownerOf(name string) (owner, bool) {
	rest, ok := strings.CutPrefix(name, tempPrefix)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 {
		return owner{}, false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return owner{}, false
	}
	return owner{pid: pid, machine: parts[2]}, true
}

// alive reports whether a process with that id exists, of any user.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return errors.Is(err, fs.ErrPermission)
	}
	err = p.Signal(syscall.Signal(0))
	gone := errors.Is(err, os.ErrProcessDone)
	if err := p.Release(); err != nil {
		return true
	}
	return !gone
}

// sweep removes the hidden folders of this machine's runs whose process is gone. What could not
// be removed is returned as warnings, since it only costs disk space.
func sweep(runs string, me owner, alive func(pid int) bool) []model.Warning {
	entries, err := os.ReadDir(runs)
	if err != nil {
		return []model.Warning{leftover(runs, err)}
	}
	var out []model.Warning
	for _, e := range entries {
		o, ok := ownerOf(e.Name())
		if !ok || o.machine != me.machine || o.pid == me.pid || alive(o.pid) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(runs, e.Name())); err != nil {
			out = append(out, leftover(filepath.Join(runs, e.Name()), err))
		}
	}
	return out
}

func leftover(path string, err error) model.Warning {
	return model.Warning{
		ID:       "leftover-bundle",
		What:     "the unfinished bundle of a run that was killed could not be removed",
		Evidence: err.Error(),
		Next:     "remove " + path + " by hand",
	}
}
