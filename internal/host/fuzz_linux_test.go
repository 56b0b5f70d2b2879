package host

import (
	"encoding/json"
	"reflect"
	"testing"

	"linerate/internal/load/worker"
	"linerate/internal/model"
	"linerate/internal/probe"
	"linerate/internal/tune"
)

// Whatever an agent answers or pushes, its controller weighs it first and then decodes it or
// says that it cannot: nothing of it makes a panic.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"v":1,"os":{"state":"present","value":"x"}}`, `[{"v":1,"seq":1}]`, `{"id":7,"n":1,"count":1,"bytes":3,"data":"AAAA"}`, `{"a":[[[[]]]],"b":{"c":null}}`, `"\ud800"`, `-0.0e+1`} {
		f.Add([]byte(s))
	}
	types := []reflect.Type{
		reflect.TypeFor[*model.Facts](), reflect.TypeFor[Hello](), reflect.TypeFor[model.Thermal](), reflect.TypeFor[model.HostFiles](), reflect.TypeFor[tune.Result](),
		reflect.TypeFor[[]tune.Entry](), reflect.TypeFor[[]tune.FileChange](), reflect.TypeFor[waitingResult](), reflect.TypeFor[tune.LeaveResult](), reflect.TypeFor[sampledResult](),
		reflect.TypeFor[worker.Event](), reflect.TypeFor[worker.Work](), reflect.TypeFor[probe.Heard](), reflect.TypeFor[probe.Toward](), reflect.TypeFor[Plugged](), reflect.TypeFor[model.Sample](), reflect.TypeFor[batchPush](),
		reflect.TypeFor[moverResult](), reflect.TypeFor[pieceResult](),
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kind := types[len(b)%len(types)]
		if _, err := weighed(b, kind, &Types{}); err != nil {
			return
		}
		v := reflect.New(kind)
		if decodeStrict(string(b), v.Interface()) != nil {
			return
		}
		if _, err := json.Marshal(v.Interface()); err != nil {
			t.Logf("%s: %v", kind, err) // such as NaN, which the store refuses
		}
	})
}
