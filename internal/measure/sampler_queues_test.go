package measure

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
)

// queued is a host whose interfaces have several transmit queues; err: it does not tell.
type queued struct {
	*kerneltest.Host
	err error
}

func (q queued) TxQueues(ctx context.Context) (map[int][]model.QueueCount, error) {
	links, err := q.Links(ctx)
	if err != nil || q.err != nil {
		return nil, errors.Join(err, q.err)
	}
	out := map[int][]model.QueueCount{4711: {{Bytes: 9}}} // of an interface that is not watched
	for _, l := range links {
		if l.Up {
			out[l.Index] = []model.QueueCount{{Queue: 0, Bytes: 1}, {Queue: 1, Bytes: 2}}
			break
		}
	}
	return out, nil
}

func TestSamplesHaveQueuesWhereAskedFor(t *testing.T) {
	w := nfsWatch()
	for _, asked := range []bool{false, true} {
		w.Queues = asked
		s, err := NewSampler(queued{Host: nfsHost(t)}, w, noon)
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, s)
		var want []model.QueueCount
		if asked {
			dev := got.NICs[0].Name
			want = []model.QueueCount{{Dev: dev, Queue: 0, Bytes: 1}, {Dev: dev, Queue: 1, Bytes: 2}}
		}
		if !reflect.DeepEqual(got.Queues, want) {
			t.Errorf("asked for: %v: %+v", asked, got.Queues)
		}
	}
	// A host that cannot tell says so, and is sampled all the same.
	denied, err := NewSampler(queued{nfsHost(t), errors.New("denied")}, w, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Sampler{denied, sampler(t, nfsHost(t), w)} {
		got := read(t, s)
		if blind := s.Blind(); len(got.NICs) == 0 || got.Queues != nil || len(blind) == 0 || !strings.Contains(blind[len(blind)-1].What, "transmit queues") {
			t.Errorf("%+v", blind)
		}
	}
}
