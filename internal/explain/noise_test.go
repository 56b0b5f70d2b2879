package explain

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// judgeJSON judges a case as it was decoded and checks what always holds.
func judgeJSON(t *testing.T, raw []byte) {
	t.Helper()
	var c Case
	if err := json.Unmarshal(raw, &c); err != nil {
		return
	}
	checkVerdict(t, c, Judge(c))
}

// FuzzJudge: whatever decodes as a case gets a verdict that prints as JSON.
//
// An execution decodes, judges and encodes a whole case of two hosts. Most of its time goes by
// in encoding/json, with the length of the case: so the seeds have two samples, the fewest that
// make a rate.
func FuzzJudge(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"sender":{"samples":[{"at":1},{"at":0}]},"line_rate":{"state":"present","value":-1}}`))
	for _, k := range faults() {
		k.samples = 2
		raw, err := json.Marshal(k.build())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(judgeJSON)
}

// TestNoise replaces numbers of every fault's samples by hostile ones.
func TestNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	makers := map[string]func() Case{
		"mount": func() Case {
			return mounted(20, 0, 300*time.Millisecond, 300*time.Millisecond, inBursts, requests(30*time.Millisecond), gaps)
		},
		"writing mount": func() Case { return writing(20, 300*time.Millisecond, 6) },
		"alone": func() Case {
			return reading(knobs{rate: 20e6, rtt: 10 * time.Millisecond}, dropping)
		},
	}
	for name, k := range faults() {
		k.samples = 12
		makers[name] = k.build
	}
	for _, name := range sortedKeys(makers) {
		for range 50 {
			c := makers[name]()
			spoil(r, reflect.ValueOf(&c), r.Float64()*r.Float64())
			checkVerdict(t, c, Judge(c))
			if t.Failed() {
				t.Fatalf("%s with noise", name)
			}
		}
	}
}

// spoil replaces a share of the numbers and flags reachable from v.
func spoil(r *rand.Rand, v reflect.Value, share float64) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(r, v.Elem(), share)
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(r, v.Index(i), share)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			spoil(r, v.Field(i), share)
		}
	default:
		if v.CanSet() && r.Float64() < share {
			replace(r, v)
		}
	}
}

func replace(r *rand.Rand, v reflect.Value) {
	hostile := []int64{0, 1, -1, 7, 255, 1 << 20, math.MaxInt32, math.MaxInt64, math.MinInt64}
	n := hostile[r.IntN(len(hostile))]
	switch {
	case v.CanInt():
		v.SetInt(n)
	case v.CanUint():
		v.SetUint(uint64(n))
	case v.CanFloat():
		v.SetFloat([]float64{0, -1, 1e308, 5e-324, 1e9}[r.IntN(5)])
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	}
}
