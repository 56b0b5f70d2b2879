package block

import (
	"encoding/json"
	"testing"
	"time"
)

// What has travelled has the same quantiles, and merges like what has not.
func TestTimesTravel(t *testing.T) {
	a := newTimes()
	for i := range 100_000 {
		if err := a.add(time.Duration(i*i)+17, 1); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var got Times
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Count() != a.Count() || got.Max != a.Max {
		t.Errorf("%d of them up to %v, want %d up to %v", got.Count(), got.Max, a.Count(), a.Max)
	}
	for _, q := range []float64{0.01, 0.5, 0.99, 0.999, 1} {
		if got.Quantile(q) != a.Quantile(q) {
			t.Errorf("quantile %v is %v, want %v", q, got.Quantile(q), a.Quantile(q))
		}
	}
	if err := got.Merge(a); err != nil || got.Quantile(0.5) != a.Quantile(0.5) {
		t.Errorf("merged: %v, %v", err, got.Quantile(0.5))
	}
}

func FuzzTimes(f *testing.F) {
	f.Add([]byte(`{"steps":[[17,3],[1000000,1]],"max_ns":1000000}`))
	f.Add([]byte(`{"steps":[[-1,3]],"max_ns":0}`))
	f.Add([]byte(`{"steps":[[1,9223372036854775807],[2,1]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Times
		if json.Unmarshal(b, &got) != nil || got.Histogram == nil {
			return
		}
		if got.Count() < 0 || got.Quantile(0.5) < 0 || got.Quantile(0.5) > got.Max {
			t.Errorf("%d times, median %v, maximum %v", got.Count(), got.Quantile(0.5), got.Max)
		}
	})
}
