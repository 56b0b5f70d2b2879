package profile

import (
	"testing"

	"linerate/internal/guide"
)

func TestLowers(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"5", "5", false}, {"5", "6", false}, {"6", "5", true}, {"-1", "0", false}, {"0", "-1", true},
		{"4096 131072 262144", "4096 131072 8388608", false},
		{"4096 131072 262144", "4096 65536 8388608", true},
		{"4096\t131072  262144", "4096 131072 262144", false},
		{"rx=256 tx=256", "rx=512 tx=256", false},
		{"rx=256 tx=256", "tx=512 rx=256", false},
		{"rx=256 tx=256", "rx=512 tx=128", true},
		{"rx-gro=on rx=1", "rx-gro=on rx=2", false},
		{"64K", "128K", false}, {"128K", "64K", true},
		// What cannot be compared.
		{"", "", true}, {"", "5", true}, {"5", "", true},
		{"cubic", "bbr", true}, {"unset", "5", true}, {"5", "unset", true}, {"rx-gro=off", "rx-gro=on", true},
		{"1 2 3", "3", true}, {"1", "1 2", true}, {"rx=1", "tx=2", true}, {"rx=1", "2", true},
		{"64K", "64M", true}, {"64", "1M", true}, {"1.5", "2.5", true}, {"10", "0x20", true},
		{"1", "99999999999999999999", true}, {"max", "1", true},
		// What does not change is no lower, whatever it is.
		{"cubic", "cubic", false}, {"bytes=1 mode=fast", "bytes=2 mode=fast", false},
	} {
		if got := Lowers(c.from, c.to); got != c.want {
			t.Errorf("Lowers(%q, %q) = %v", c.from, c.to, got)
		}
	}
}

// A value that cannot be compared may be a lower one, so it trades what a lower
// one does.
func TestTradesWhereNothingCanBeCompared(t *testing.T) {
	s := guide.Setting{Trades: "security, when lowered"}
	for _, c := range [][2]string{{"65536", "max"}, {"unset", "65536"}, {"65536", "65536 1"}, {"", "65536"}, {"64K", "1M"}} {
		if got := Trades(s, c[0], c[1]); got != "security" {
			t.Errorf("from %q to %q it trades %q, want security", c[0], c[1], got)
		}
	}
	if got := Trades(s, "65536", "131072"); got != "" {
		t.Errorf("a larger value trades %q", got)
	}
}
