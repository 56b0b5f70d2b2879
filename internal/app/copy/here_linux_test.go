package copy

import (
	"os"
	"sync/atomic"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/move"
	"linerate/internal/move/local"
)

// countedHost is this host with two disks; it counts how often its cores are asked for.
type countedHost struct {
	kernel.Live
	reads atomic.Int64
}

func (h *countedHost) ReadFile(path string) ([]byte, error) {
	switch path {
	case "/proc/thread-self/net/softnet_stat":
		h.reads.Add(1)
	case "/proc/diskstats":
		return []byte("8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n8 16 sdb 2 0 16 2 2 0 16 2 0 2 2\n"), nil
	}
	return h.Live.ReadFile(path)
}

// A copy within a host reads its counters once for both ends, each of which has its own disk.
func TestACopyWithinAHostReadsItsCountersOnce(t *testing.T) {
	for _, c := range []struct{ disks, want [2]string }{
		{[2]string{"8:0", "8:16"}, [2]string{"sda", "sdb"}},
		{[2]string{"8:16", ""}, [2]string{"sdb", ""}},
		{[2]string{"", "8:0"}, [2]string{"", "sda"}},
		{[2]string{"8:0", "8:0"}, [2]string{"sda", "sda"}},
	} {
		host := &countedHost{}
		s := &session{env: testEnv(t), report: move.NewReport(nil), spent: &local.Spent{}, seen: newWatched(time.Now), began: time.Now()}
		three := make(chan struct{})
		n := 0
		r := &reader{s, host, c.disks}
		watch := measure.Watch{PIDs: []int{os.Getpid()}, Serves: &measure.Serving{Disk: c.disks[0]}}
		stop, err := r.FollowSampling(t.Context(), watch, time.Millisecond, func(x model.Sample) {
			s.seen.add(0, x)
			if n++; n == 3 {
				close(three)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		<-three
		if _, err := stop(); err != nil {
			t.Fatal(err)
		}
		from, to := s.seen.ends[0].samples, s.seen.ends[1].samples
		if reads := int(host.reads.Load()); len(from) < 3 || len(from) != len(to) || reads-len(from) > 1 {
			t.Fatalf("%d and %d samples of %d readings", len(from), len(to), reads)
		}
		for i, x := range []model.Sample{from[0], to[0]} {
			name := ""
			if x.Server.Disk != nil {
				name = x.Server.Disk.Name
			}
			if name != c.want[i] || x.Copy == nil {
				t.Errorf("%v, end %d: disk %q, copy %v", c.disks, i, name, x.Copy)
			}
		}
	}
}

func TestWhereCountersAreSlowTheyAreReadLessOften(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: sampledEvery, time.Millisecond: sampledEvery, 10 * time.Millisecond: 500 * time.Millisecond, time.Minute: shortest * 3 / 4,
	} {
		if got := restAfter(sampledEvery, took); got != want {
			t.Errorf("after %v a rest of %v, want %v", took, got, want)
		}
	}
}
