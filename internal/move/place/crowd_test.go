package place

import (
	"runtime"
	"testing"
)

// Whoever has made a file goes on once few wait to make theirs, and not before.
func TestWhoHasMadeAFileLetsOthersMakeTheirs(t *testing.T) {
	var c crowd
	const all = crowded + 3
	for range all {
		c.join()
	}
	gone := make(chan struct{}, all)
	for i := range all - crowded {
		go func() {
			c.made()
			gone <- struct{}{}
		}()
		for waiting := false; !waiting; runtime.Gosched() {
			c.mu.Lock()
			waiting = c.n == all-1-i
			c.mu.Unlock()
		}
		select {
		case <-gone:
			t.Fatalf("one goes on while %d wait", all-1-i)
		default:
		}
	}
	c.made()
	for range all - crowded {
		<-gone
	}
	for range crowded - 1 {
		c.made()
	}
	if c.n != 0 {
		t.Errorf("%d wait", c.n)
	}
}
