package host

import (
	"reflect"
	"testing"
	"time"

	"linerate/internal/host/delta"
	"linerate/internal/model"
)

// Samples that are lost on their way are a gap: what comes after it is read from the next batch on
// that needs nothing before it, and it is known up to where samples came.
func TestBatchesThatAreLost(t *testing.T) {
	c := &Client{samples: map[int]*collected{}, types: &Types{}}
	s := c.adopt(1)
	pack := &delta.Writer{}
	for n, b := range []struct{ fresh, lost, unread bool }{
		{fresh: true}, {}, {lost: true}, {unread: true}, {fresh: true, lost: true}, {unread: true}, {fresh: true}, {},
	} {
		made, err := pack.Pack([][]byte{[]byte(`{"v":1,"at":` + string(rune('0'+n)) + `}`)}, b.fresh)
		if err != nil {
			t.Fatal(err)
		}
		if b.lost {
			continue
		}
		err = c.batch(batchPush{ID: 1, N: n, Count: 1, Fresh: made.Fresh, Bytes: made.Bytes, Data: append([]byte(nil), made.Data...)})
		if (err != nil) != b.unread {
			t.Errorf("batch %d: %v", n, err)
		}
		if s.heardTo() != n+1 {
			t.Errorf("after batch %d samples were heard of up to %d", n, s.heardTo())
		}
	}
	var at []time.Duration
	s.follow(func(x model.Sample) { at = append(at, x.At) })
	if want := []time.Duration{0, 1, 6, 7}; !reflect.DeepEqual(at, want) {
		t.Errorf("%v, want %v", at, want)
	}
}

// Samples that are passed on are counted and not kept, those before the follower came included.
func TestSamplesThatArePassedOn(t *testing.T) {
	for _, pass := range []bool{false, true} {
		s := newCollected()
		s.pass = pass
		var at []time.Duration
		put := func(n int) {
			s.put(numbered{n: n, sample: model.Sample{At: time.Duration(n)}}, 1000, 3500)
		}
		put(0)
		s.follow(func(x model.Sample) { at = append(at, x.At) })
		for n := 1; n < 10; n++ {
			put(n)
		}
		want, kept := 3, 3 // there is room for so many
		if pass {
			want, kept = 10, 0
		}
		if len(at) != want || s.len() != want || len(s.all) != kept || s.overflowed() == pass {
			t.Errorf("pass %t: %d passed on, %d counted, %d kept, full %t", pass, len(at), s.len(), len(s.all), s.overflowed())
		}
	}
}
