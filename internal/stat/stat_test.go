package stat

import (
	"math"
	"slices"
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

// Of an even number the three that give one of the values differ from the median and from each other.
func TestOneOfTheSortedValues(t *testing.T) {
	for _, c := range []struct {
		sorted                      []int
		nearest, upper, below       int
		nearest9, below9, below1, z int
	}{
		{[]int{7}, 7, 7, 7, 7, 7, 7, 7},
		{[]int{1, 2}, 1, 2, 1, 2, 1, 2, 1},
		{[]int{1, 2, 3}, 2, 2, 2, 3, 2, 3, 1},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 5, 6, 5, 9, 9, 10, 1},
	} {
		got := []int{NearestRank(c.sorted, 0.5), UpperMiddle(c.sorted), RankBelow(c.sorted, 0.5),
			NearestRank(c.sorted, 0.9), RankBelow(c.sorted, 0.9), RankBelow(c.sorted, 1), RankBelow(c.sorted, 0)}
		if want := []int{c.nearest, c.upper, c.below, c.nearest9, c.below9, c.below1, c.z}; !slices.Equal(got, want) {
			t.Errorf("of %v: %v, want %v", c.sorted, got, want)
		}
	}
}
