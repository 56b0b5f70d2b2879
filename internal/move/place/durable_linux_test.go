package place

import "testing"

func TestWhereSyncfsTellsOfWhatWasLost(t *testing.T) {
	const ext4 = 0xef53
	for _, c := range []struct {
		release string
		fsType  int64
		want    bool
	}{
		{"6.1.0-18-amd64", ext4, true},
		{"5.8.0", ext4, true},
		{"5.7.19", ext4, false},
		{"4.18.0-553.el8_10.x86_64", ext4, false},
		{"6.1.0", fuse, false},
		{"6.1.0", v9fs, false},
		{"unknown", ext4, false},
	} {
		if got := tellsLosses(c.release, c.fsType); got != c.want {
			t.Errorf("%s, %x: %v", c.release, c.fsType, got)
		}
	}
}
