package host

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"linerate/internal/host/delta"
	"linerate/internal/model"
)

// Samples that are read after the one before are those that were sent, are weighed as if they had
// been read alone, and share what did not change. One that cannot be read is refused in any case.
func TestSamplesAreReadAfterTheOneBefore(t *testing.T) {
	c := &Client{samples: map[int]*collected{}, types: &Types{}}
	s := c.adopt(1)
	pack := &delta.Writer{}
	send := func(n int, text string) error {
		b, err := pack.Pack([][]byte{[]byte(text)}, n == 0)
		if err != nil {
			t.Fatal(err)
		}
		return c.batch(batchPush{ID: 1, N: n, Count: 1, Fresh: b.Fresh, Bytes: b.Bytes, Data: b.Data})
	}
	var want []model.Sample
	for n := range 9 {
		x := model.Sample{V: 1, At: time.Duration(n), Tasks: []model.Task{{Name: strings.Repeat("1", 1+n)}}, NICs: []model.NICCount{{Name: "eth0", RxBytes: int64(n / 4)}}}
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, x)
		before := s.held
		if err := send(n, string(text)); err != nil {
			t.Fatal(err)
		}
		alone, err := weighed(text, reflect.TypeFor[model.Sample](), &Types{})
		if err != nil || s.held-before < alone {
			t.Errorf("sample %d is weighed as %d bytes, and alone as %d, %v", n, s.held-before, alone, err)
		}
	}
	var got []model.Sample
	s.follow(func(x model.Sample) { got = append(got, x) })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if &got[5].NICs[0] != &got[6].NICs[0] || &got[7].NICs[0] == &got[8].NICs[0] {
		t.Error("what did not change is not shared, or what did is")
	}
	if err := send(9, fmt.Sprintf(`{"v":1,"at":9,"host_at":"0001-01-01T00:00:00Z","spread":0,"tasks":[{"pid":%d}]}`, 1<<62)); err != nil {
		t.Error(err)
	}
	if err := send(10, `{"v":1,"at":9,"host_at":"0001-13-01T00:00:00Z","spread":0,"tasks":[{"pid":1}]}`); err == nil {
		t.Error("a sample of month 13 was read")
	}
}
