//go:build !linux

package block

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/load/ring"
	"linerate/internal/unit"
)

// What a system other than Linux is asked for when a file is opened past its page cache, or for
// writes that are durable before they complete, does not change what is written and read.
func TestFilesPastTheCache(t *testing.T) {
	for name, s := range map[string]Spec{
		"through the cache": {},
		"past the cache":    {Direct: true},
		"durable":           {Sync: Every},
		"both":              {Direct: true, Sync: Every},
	} {
		t.Run(name, func(t *testing.T) {
			s.Path = filepath.Join(t.TempDir(), "data.bin")
			if err := os.WriteFile(s.Path, make([]byte, 64<<10), 0o600); err != nil {
				t.Fatal(err)
			}
			target, err := openTarget(s, true, false)
			if errors.Is(err, ErrNoDirect) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := target.Close(); err != nil {
					t.Error(err)
				}
			}()
			b, err := ring.Memory(8 << 10)
			if err != nil {
				t.Fatal(err)
			}
			defer ring.Free(b)
			for i := range b {
				b[i] = byte(i * 7)
			}
			want := bytes.Clone(b)
			if n := target.file.writeAt(b, 16<<10); n != int32(len(b)) {
				t.Fatalf("wrote %d: %v", n, errorOf(-int(n)))
			}
			if err := target.sync(); err != nil {
				t.Fatal(err)
			}
			clear(b)
			if n := target.file.readAt(b, 16<<10); n != int32(len(b)) || !bytes.Equal(b, want) {
				t.Errorf("read %d, the same: %v", n, bytes.Equal(b, want))
			}
			if target.Size != 64*unit.KiB {
				t.Errorf("size %v", target.Size)
			}
		})
	}
}
