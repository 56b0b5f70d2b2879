package block

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// timesForm is how Times travel from host to host: each step of the histogram
// that is not empty as a pair of its value in nanoseconds and its count. Merging
// what has travelled loses nothing.
type timesForm struct {
	Steps [][2]int64 `json:"steps"`
	Max   int64      `json:"max_ns"`
}

// MarshalJSON writes the steps that are not empty.
func (t *Times) MarshalJSON() ([]byte, error) {
	f := timesForm{Steps: [][2]int64{}, Max: int64(t.Max)}
	for _, b := range t.Histogram.Distribution() {
		if b.Count > 0 {
			f.Steps = append(f.Steps, [2]int64{b.From, b.Count})
		}
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON wrote, from a host that may have been
// taken over: values and counts are bounded.
func (t *Times) UnmarshalJSON(b []byte) error {
	var f timesForm
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("read times: %w", err)
	}
	h := hdrhistogram.New(1, int64(Longest), digits)
	total := int64(0)
	for _, s := range f.Steps {
		value, count := s[0], s[1]
		if value < 0 || value > int64(Longest) || count < 1 || count > math.MaxInt64-total {
			return fmt.Errorf("read times: a step of %d times %d ns", count, value)
		}
		total += count
		if err := h.RecordValues(value, count); err != nil {
			return fmt.Errorf("read times: %w", err)
		}
	}
	if f.Max < 0 {
		return fmt.Errorf("read times: a maximum of %d ns", f.Max)
	}
	t.Histogram, t.Max = h, time.Duration(f.Max)
	return nil
}
