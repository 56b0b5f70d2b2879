//go:build unix

package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLoadOpensPlainFilesOnly(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("-- proc/a --\nthis host's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(at string) error{
		"fifo":      func(at string) error { return unix.Mkfifo(at, 0o600) },
		"link":      func(at string) error { return os.Symlink(secret, at) },
		"directory": func(at string) error { return os.Mkdir(at, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), FileName)
			if err := plant(at); err != nil {
				t.Fatal(err)
			}
			if h, err := Load(at); !errors.Is(err, ErrDamaged) || h != nil || !strings.Contains(err.Error(), "no plain file") {
				t.Errorf("%v, %v", h, err)
			}
		})
	}
}
