//go:build unix

package document

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v3"
)

// keyboard is a terminal that is read through a description of its own, so that a reading ends when the terminal
// is left: tcell 3.6.0 leaves one waiting, which takes the first key after the program goes on.
type keyboard struct {
	tcell.Tty
	dev string
	in  atomic.Pointer[os.File] // nil: the system cannot end a reading of a terminal
}

// ownReader has a terminal read so.
func ownReader(tty tcell.Tty, dev string) tcell.Tty { return &keyboard{Tty: tty, dev: dev} }

// Start implements tcell.Tty.
func (k *keyboard) Start() error {
	if err := k.Tty.Start(); err != nil || k.in.Load() != nil {
		return err
	}
	in, err := os.OpenFile(k.dev, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil // what it is written through reads, too
	}
	if in.SetReadDeadline(time.Time{}) != nil {
		_ = in.Close() // nothing was read
		return nil
	}
	k.in.Store(in)
	return nil
}

// Read implements tcell.Tty.
func (k *keyboard) Read(b []byte) (int, error) {
	if in := k.in.Load(); in != nil {
		return in.Read(b)
	}
	return k.Tty.Read(b)
}

// Drain implements tcell.Tty: readings end.
func (k *keyboard) Drain() error {
	if in := k.in.Load(); in != nil {
		_ = in.SetReadDeadline(time.Now()) // it was set before
	}
	return k.Tty.Drain()
}

// Stop implements tcell.Tty.
func (k *keyboard) Stop() error {
	if in := k.in.Swap(nil); in != nil {
		_ = in.Close() // it was only read
	}
	return k.Tty.Stop()
}
