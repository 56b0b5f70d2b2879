package measure

import (
	"path/filepath"
	"testing"
	"time"

	"linerate/internal/kernel/kerneltest"
)

// Pause frames are asked for once a second, of hardware that tells them.
func TestPauseFramesOnceASecond(t *testing.T) {
	h, err := kerneltest.Load(filepath.Join("../../testdata/hosts/dtn-40g-sick", "host.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	now := noon()
	s, err := NewSampler(h, Watch{}, func() time.Time { now = now.Add(400 * time.Millisecond); return now })
	if err != nil {
		t.Fatal(err)
	}
	var told []bool
	for range 6 {
		some := false
		for _, n := range read(t, s).NICs {
			if n.Pause == nil {
				continue
			}
			if some = true; n.Pause.Rx != 90000000 || n.Pause.Tx != 40 {
				t.Errorf("%s: %+v", n.Name, *n.Pause)
			}
		}
		told = append(told, some)
	}
	for i, want := range []bool{true, false, false, true, false, false} {
		if told[i] != want {
			t.Fatalf("asked in samples %v", told)
		}
	}
}
