package kernel

import (
	"testing"
	"time"
)

func TestParsePressure(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"some avg10=84.52 avg60=78.30 avg300=66.37 total=2316292290\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n": 2316292290 * time.Microsecond,
		"full avg10=0.00 total=5\nsome total=7": 7 * time.Microsecond,
		"":                                      -1,
		"some avg10=1":                          -1,
		"some total=-3":                         -1,
		"some total=99999999999999999999":       -1,
	} {
		got, err := ParsePressure([]byte(text))
		if want < 0 {
			if err == nil {
				t.Errorf("%q: %s without an error", text, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

func FuzzParsePressure(f *testing.F) {
	f.Add([]byte("some avg10=0.00 total=12\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := ParsePressure(b); err == nil && d < 0 {
			t.Errorf("negative: %s", d)
		}
	})
}
