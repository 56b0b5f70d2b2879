package past

import (
	"maps"
	"math"
	"slices"
	"time"
)

// growth is by how much the bounds of neighbouring classes differ: what is read from a class is
// within 1% of what was put in.
const growth = 1.02

// Histogram counts times by class. Two of them add up without loss.
type Histogram map[int]int64

// put counts a time.
func (h *Histogram) put(d time.Duration) {
	if d <= 0 {
		return
	}
	if *h == nil {
		*h = Histogram{}
	}
	(*h)[int(math.Round(math.Log(float64(d))/math.Log(growth)))]++
}

func (h *Histogram) merge(g Histogram) {
	if len(g) > 0 && *h == nil {
		*h = Histogram{}
	}
	for class, n := range g {
		(*h)[class] += n
	}
}

// Quantile is the time that a share of all counted times does not exceed; false: none was counted.
func (h Histogram) Quantile(share float64) (time.Duration, bool) {
	var all, below int64
	for _, n := range h {
		all += n
	}
	for _, class := range slices.Sorted(maps.Keys(h)) {
		if below += h[class]; float64(below) >= share*float64(all) {
			return time.Duration(math.Pow(growth, float64(class))), true
		}
	}
	return 0, false
}
