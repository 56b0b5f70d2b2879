package kernel

import (
	"os"
	"path/filepath"
	"testing"
)

// Two commands may look for a lab at once, where none is up: one removes the directory, which it found
// empty, while the other makes it. That one must not go elsewhere then.
func TestPrivateDirThatIsRemovedMeanwhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "linerate")
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-over:
				return
			default:
				_ = os.Remove(dir) // it may not be there
			}
		}
	}()
	for range 20_000 {
		if err := PrivateDir(dir); err != nil {
			t.Error(err)
			break
		}
	}
	close(over)
	<-gone
}
