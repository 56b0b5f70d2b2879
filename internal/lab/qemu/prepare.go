package qemu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"linerate/internal/kernel"
	"linerate/internal/unit"
)

// diskSize bounds the space for the machine's own files. The image is sparse.
const diskSize = 2 * unit.GiB

// Prepare writes the files that boot s into its private directory and returns the command that
// boots it. The command has to run in the network namespace that has the taps of the cards, or
// where they can be created. It exits when the machine powers off, reboots or panics. If it is
// started again, that is a reboot of the same machine: the files that it changed are still
// there. The machine's console since its latest boot is in console.log.
func Prepare(ctx context.Context, s Spec) ([]string, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare machine %s: %w", s.Name, err)
	}
	return s.argv(), nil
}

func (s Spec) prepare(ctx context.Context) error {
	if err := s.validate(); err != nil {
		return err
	}
	if err := s.checkModels(ctx); err != nil {
		return err
	}
	if err := kernel.PrivateDir(s.Work); err != nil {
		return err
	}
	if err := s.writeInitramfs(ctx); err != nil {
		return fmt.Errorf("write initramfs: %w", err)
	}
	if err := s.makeDisk(ctx); err != nil {
		return fmt.Errorf("make disk: %w", err)
	}
	return nil
}

// checkModels lists the cards that the emulator knows: its exit code does not show
// whether it knows a given one.
func (s Spec) checkModels(ctx context.Context) error {
	if len(s.NICs) == 0 {
		return nil
	}
	out, err := kernel.Exec(ctx, s.Kernel.QEMU, "-device", "help").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its devices: %w", s.Kernel.QEMU, err)
	}
	for i, n := range s.NICs {
		if !bytes.Contains(out, fmt.Appendf(nil, "name %q,", n.Model)) {
			return fmt.Errorf("network card %d: this emulator has no %s%s", i, n.Model, since(n.Model))
		}
	}
	return nil
}

func since(model string) string {
	if model == IGB {
		return ", which came with QEMU 8"
	}
	return ""
}

// makeDisk makes the machine's disk unless it is there.
func (s Spec) makeDisk(ctx context.Context) error {
	path := filepath.Join(s.Work, diskFile)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	mkfs, ok := program("mkfs.ext4", "/")
	if !ok {
		return missing("mkfs.ext4", "e2fsprogs")
	}
	// The disk gets its final name when it is complete.
	tmp := path + ".new"
	if err := os.WriteFile(tmp, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(tmp, int64(diskSize)); err != nil {
		return err
	}
	if out, err := kernel.Exec(ctx, mkfs, "-q", "-F", tmp).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", mkfs, err, bytes.TrimSpace(out))
	}
	return os.Rename(tmp, path)
}
