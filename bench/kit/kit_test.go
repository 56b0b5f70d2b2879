package kit

import (
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestCPU(t *testing.T) {
	before := CPU{All: 100 * time.Second, Busy: 20 * time.Second, Stolen: 10 * time.Second}
	after := CPU{All: 300 * time.Second, Busy: 70 * time.Second, Stolen: 60 * time.Second}
	d := after.Since(before)
	if got := d.Share(d.Stolen); got != 0.25 {
		t.Errorf("%g", got)
	}
	if got := (CPU{}).Share(0); got != 0 {
		t.Errorf("in no time: %g", got)
	}
}

// TestWilson against the published example of 81 of 263 (Newcombe 1998).
func TestWilson(t *testing.T) {
	lo, hi := wilson(81, 263)
	if math.Abs(lo-0.2553) > 5e-5 || math.Abs(hi-0.3662) > 5e-5 {
		t.Errorf("%.4f-%.4f", lo, hi)
	}
	if lo, hi := wilson(0, 10); lo != 0 || hi < 0.27 || hi > 0.29 {
		t.Errorf("%.4f-%.4f", lo, hi)
	}
}

func TestDecode(t *testing.T) {
	var got struct{ A int }
	if err := Decode(exec.Command("echo", `fio: a warning`+"\n"+`{"A": 3}`), &got); err != nil || got.A != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := Decode(exec.Command("echo", "no object"), &got); err == nil || !strings.Contains(err.Error(), "no object") {
		t.Errorf("%v", err)
	}
	err := Decode(exec.Command("sh", "-c", "echo why >&2; exit 3"), &got)
	if err == nil || !strings.Contains(err.Error(), "exit status 3: why") {
		t.Errorf("%v", err)
	}
}
