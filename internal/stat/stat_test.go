package stat

import (
	"math"
	"testing"
)

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		x                       []float64
		mean, median, deviation float64
	}{
		{nil, math.NaN(), math.NaN(), 0},
		{[]float64{7}, 7, 7, 0},
		{[]float64{3, 1}, 2, 2, math.Sqrt2},
		{[]float64{9, 1, 2}, 4, 2, math.Sqrt(19)},
		{[]float64{4, 2, 4, 2}, 3, 3, math.Sqrt(4.0 / 3)},
	} {
		for _, v := range []struct {
			name      string
			got, want float64
		}{{"mean", Mean(c.x), c.mean}, {"median", Median(c.x), c.median}, {"deviation", Deviation(c.x), c.deviation}} {
			if math.Abs(v.got-v.want) > 1e-12 || math.IsNaN(v.got) != math.IsNaN(v.want) {
				t.Errorf("%s of %v: %v, want %v", v.name, c.x, v.got, v.want)
			}
		}
	}
	x := []float64{3, 1, 2}
	Median(x)
	if x[0] != 3 {
		t.Error("the median sorted what it was given")
	}
	if Finite(math.NaN()) || Finite(math.Inf(-1)) || !Finite(0) {
		t.Error("finite")
	}
}
