package unit

import "testing"

func TestPercentsOfEachRounding(t *testing.T) {
	for _, c := range []struct {
		share                            float64
		whole, tenths, belowTen, nearOne string
	}{
		{0, "0%", "0.0%", "0%", "0.0%"},
		{0.0001, "0%", "0.0%", "< 0.1%", "0.0%"},
		{0.0044, "0%", "0.4%", "0.4%", "0.4%"},
		{0.03, "3%", "3.0%", "3%", "3.0%"},
		{-0.0001, "-0%", "-0.0%", "0%", "-0.0%"},
		{0.0994, "10%", "9.9%", "9.9%", "9.9%"},
		{0.126, "13%", "12.6%", "13%", "12.6%"},
		{0.99999, "100%", "100.0%", "100%", "99.999%"},
		{1.5, "150%", "150.0%", "150%", "150.0%"},
	} {
		got := [4]string{Percent(c.share), PercentTenths(c.share), PercentBelowTen(c.share), PercentNearOne(c.share)}
		if want := [4]string{c.whole, c.tenths, c.belowTen, c.nearOne}; got != want {
			t.Errorf("%v: %q, want %q", c.share, got, want)
		}
	}
	if a, b := PercentDigits(0.0001, 4), PercentDigits(1.0/3, 3); a != "0.01%" || b != "33.3%" {
		t.Errorf("digits: %s and %s", a, b)
	}
}
