package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// changed changes the source while it is copied.
func (b *bench) changed(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	b.fresh = false
	for i := range 50 {
		if err := os.WriteFile(b.changing(i), version(0), 0o644); err != nil {
			return err
		}
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	var failed error
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			if failed = b.change(i); failed != nil {
				return
			}
		}
	})
	cmd := b.Command(ctx, "copy", b.src+"/", b.dst)
	out, err := cmd.CombinedOutput()
	close(stop)
	wait.Wait()
	if failed != nil {
		return failed
	}
	if err != nil {
		t.cut++
		var ee *exec.ExitError
		if !errors.As(err, &ee) || ee.ExitCode() != 6 {
			return fmt.Errorf("exit code of a copy whose source changed: %w: %s", err, out)
		}
	}
	wrong, err := b.wrong(true)
	if err != nil {
		return err
	}
	t.wrong += wrong
	return b.last(ctx, t)
}

// changing is one of the files that are changed.
func (b *bench) changing(i int) string {
	return filepath.Join(b.src, "d", fmt.Sprintf("f%d", i%50))
}

// version is what a file holds after a change: one byte, and a length that tell which.
func version(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 1000+i) }

// isVersion tells whether a content is one whole version, or the empty one that a file has
// while it is written anew.
func isVersion(b []byte) bool {
	return len(b) == 0 || len(b) >= 1000 && bytes.Equal(b, version(len(b)-1000))
}

// change makes one change.
func (b *bench) change(i int) error {
	path, content := b.changing(i), version(i)
	switch i % 5 {
	case 0:
		return errors.Join(os.WriteFile(path+".new", content, 0o644), os.Rename(path+".new", path))
	case 1:
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case 2:
		if err := os.Truncate(path, 0); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	case 3:
		return grow(path)
	}
	return os.WriteFile(path, content, 0o644)
}

// grow appends to a file, so that it is a later version.
func grow(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	one := make([]byte, 1)
	n, err := f.ReadAt(one, 0)
	if errors.Is(err, io.EOF) {
		err = nil // it is empty
	}
	if err == nil && n > 0 {
		_, err = f.Write(bytes.Repeat(one, 26))
	}
	return errors.Join(err, f.Close())
}
