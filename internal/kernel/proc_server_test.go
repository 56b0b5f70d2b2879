package kernel

import (
	"testing"

	"linerate/internal/model"
)

const (
	nfsdStats = "rc 0 6 4211\nfh 0 0 0 0 0\nio 4404019200 0\nth 8 0 0.000 0.000 0.000\nra 0 0 0 0 0 0 0 0 0 0 0 0\nnet 4217 0 4217 1\nrpc 4217 0 0 0 0\n"
	poolStats = "# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 9000 9000 8100 0\n1 1000 1000 900 0\n"
)

func TestParseNFSD(t *testing.T) {
	got, err := ParseNFSD([]byte(nfsdStats), []byte(poolStats))
	if want := (model.NFSDCount{Threads: 8, Arrived: 10000, Woken: 9000}); err != nil || *got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	// Where the control file system is not mounted there are no pools.
	if got, err := ParseNFSD([]byte(nfsdStats), nil); err != nil || got.Threads != 8 || got.Arrived != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][2]string{{"", poolStats}, {"th\n", poolStats}, {"th x\n", poolStats}, {nfsdStats, "0 1 2\n"}, {nfsdStats, "0 a 2 3\n"}, {nfsdStats, "0 -1 2 3\n"}} {
		if got, err := ParseNFSD([]byte(bad[0]), []byte(bad[1])); err == nil {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
}

func TestParseBlocked(t *testing.T) {
	n, err := ParseBlocked([]byte("cpu  1 2 3 4 5 6 7 8 9 10\nprocs_running 2\nprocs_blocked 3\n"))
	if err != nil || n != 3 {
		t.Errorf("%d, %v", n, err)
	}
	for _, bad := range []string{"", "procs_blocked\n", "procs_blocked x\n", "procs_blocked -1\n"} {
		if n, err := ParseBlocked([]byte(bad)); err == nil {
			t.Errorf("%q gave %d", bad, n)
		}
	}
}

func FuzzParseServer(f *testing.F) {
	f.Add([]byte(nfsdStats), []byte(poolStats))
	f.Add([]byte("procs_blocked 1\n"), []byte("0 9223372036854775807 0 9223372036854775807\n1 1 0 1\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if n, err := ParseBlocked(a); err == nil && n < 0 {
			t.Errorf("%d blocked", n)
		}
		if c, err := ParseNFSD(a, b); err == nil && (c.Threads < 0 || c.Arrived < 0 || c.Woken < 0) {
			t.Errorf("%+v", c)
		}
	})
}
