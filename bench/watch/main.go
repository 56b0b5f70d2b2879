// Command watch measures what a live view costs. Without a flag: its controller, which judges, shows,
// records and keeps made-up pictures of so many hosts, and what a day of history of one host weighs.
// -reading: a host that is read, beside node_exporter. -page: the page, in a browser. -lab: how long
// watch takes in a lab to give each fault its name, and what it calls a path that has none. -agent: what
// the agents cost the goodput between two hosts of a lab. Each takes ten minutes at most, and a
// quiet machine.
//
//	go run ./bench/watch
//	go run ./bench/watch -reading [-exporter PROGRAM] [-for 60s]
//	go run ./bench/watch -page [-for 60s]
//	go run ./bench/watch -lab [-healthy 60s] [-faults policer,small-queue]
//	go run ./bench/watch -agent [-pairs 16] [-run 5s]
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"linerate/bench/kit"
	"linerate/internal/model"
	"linerate/internal/store/history"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
	"linerate/internal/web"
)

func main() {
	labs := flag.Bool("lab", false, "measure in a lab how long faults stay without their name")
	reading := flag.Bool("reading", false, "measure what it costs a host to be read, beside node_exporter")
	exporter := flag.String("exporter", "prometheus-node-exporter", "with -reading: node_exporter's program")
	pages := flag.Bool("page", false, "measure the page in chromium")
	long := flag.Duration("for", time.Minute, "with -reading and -page: how long each is looked at")
	healthy := flag.Duration("healthy", time.Minute, "with -lab: how long to look at a healthy path")
	faults := flag.String("faults", "", "with -lab: try these alone, with commas between")
	agents := flag.Bool("agent", false, "measure in a lab what the agents cost the goodput")
	pairs := flag.Int("pairs", 16, "with -agent: pairs of runs")
	each := flag.Duration("run", 5*time.Second, "with -agent: how long each run is")
	flag.Parse()
	kit.Main("watch", func(ctx context.Context) error {
		switch {
		case *labs:
			return inLab(ctx, *healthy, strings.FieldsFunc(*faults, func(r rune) bool { return r == ',' }))
		case *agents:
			return agentEffect(ctx, *pairs, *each)
		case *reading:
			return readers(ctx, *exporter, *long)
		case *pages:
			return page(ctx, *long)
		}
		return run()
	})
}

func run() error {
	fmt.Printf("One page is open; both ends of its stream are in the figure. Each host: a path, a connection, 16 cores, 2 interfaces, 3 kinds of request; a picture a second. Seed 1.\n\n")
	fmt.Println("| hosts | CPU for a second of pictures | of a core | heap | one message to a page |")
	fmt.Println("|---|---|---|---|---|")
	for _, hosts := range []int{10, 100, 1000} {
		if err := controller(hosts, 30); err != nil {
			return err
		}
	}
	each, err := judging()
	if err != nil {
		return err
	}
	fmt.Printf("\nJudging one path, from both ends: %v of CPU a second, %.2f%% of a core.\n", each.Round(10*time.Microsecond), 100*each.Seconds())
	if err := sent(); err != nil {
		return err
	}
	bytes, err := day()
	if err != nil {
		return err
	}
	const series = 16*4 + 2*5 + 3*3 + 12
	fmt.Printf("\nHistory of one host: %v a day of records of 10 s, %.2f bytes a series and record (%d series).\n", bytes, float64(bytes)/8640/series, series)
	return nil
}

// controller shows so many seconds of the pictures of hosts, and prints what that took.
func controller(hosts, seconds int) error {
	dir, err := os.MkdirTemp("", "bench-watch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	store, err := history.Open(dir, "bench", 10*unit.GiB, at)
	if err != nil {
		return err
	}
	defer store.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	view, gather := web.NewView("bench", "bench"), past.Gather{Span: history.Finest}
	var took time.Duration
	next, end, err := reader(view)
	if err != nil {
		return err
	}
	defer end()
	message, err := next() // of no path yet
	if err != nil {
		return err
	}
	for i := range seconds {
		all := make([]watch.Picture, hosts)
		for h := range all {
			all[h] = picture(rng, h, at.Add(time.Duration(i)*time.Second))
		}
		before, err := used()
		if err != nil {
			return err
		}
		if err := view.Show(all); err != nil {
			return err
		}
		for _, r := range gather.Add(all) {
			if err := store.Add(r); err != nil {
				return err
			}
		}
		after, err := used()
		if err != nil {
			return err
		}
		took += after - before
		if message, err = next(); err != nil {
			return err
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	each := took / time.Duration(seconds)
	fmt.Printf("| %d | %v | %.2g%% | %v | %v |\n", hosts, each.Round(10*time.Microsecond), 100*each.Seconds(), unit.Bytes(m.HeapAlloc), unit.Bytes(message))
	return nil
}

// reader opens a page of a view; next waits for a message and says how many bytes it has.
func reader(view *web.View) (next func() (int, error), end func(), err error) {
	h, err := view.Handler(web.Access{})
	if err != nil {
		return nil, nil, err
	}
	s := httptest.NewServer(h)
	resp, err := http.Get(s.URL + "/events")
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	lines := bufio.NewReaderSize(resp.Body, 1<<20)
	next = func() (n int, err error) {
		for blank := false; !blank && err == nil; {
			var part []byte
			if part, err = lines.ReadSlice('\n'); errors.Is(err, bufio.ErrBufferFull) {
				err = nil
			}
			n, blank = n+len(part), len(part) == 1
		}
		return n, err
	}
	return next, func() {
		_ = resp.Body.Close() // a reader that goes
		s.Close()
	}, nil
}

// day keeps a day of one host and returns what it weighs once it is sealed.
func day() (unit.Bytes, error) {
	dir, err := os.MkdirTemp("", "bench-watch-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	begin := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	store, err := history.Open(dir, "bench", 10*unit.GiB, begin)
	if err != nil {
		return 0, err
	}
	defer store.Close()
	rng, gather := rand.New(rand.NewPCG(1, 1)), past.Gather{Span: history.Finest}
	for i := range 24*3600 + 600 { // a little more, so that the last hour is sealed
		for _, r := range gather.Add([]watch.Picture{picture(rng, 0, begin.Add(time.Duration(i)*time.Second))}) {
			if err := store.Add(r); err != nil {
				return 0, err
			}
		}
	}
	is, _ := store.Size()
	return is, nil
}

// picture is of a host that carries 60 to 100% of its ceiling and whose cores are never idle:
// its records are the largest possible.
func picture(rng *rand.Rand, h int, at time.Time) watch.Picture {
	ceiling, share := 9.41*unit.Gbit, 0.6+0.4*rng.Float64()
	rate := unit.BitRate(share) * ceiling
	busy, some, rest := 1.0, rng.Float64()/2, 0.5
	host := watch.Host{Name: fmt.Sprintf("host%d", h), Heard: at}
	for c := range 16 {
		host.Cores = append(host.Cores, watch.Core{CPU: c, User: rng.Float64() / 4, System: rng.Float64() / 4, SoftIRQ: rng.Float64() / 4})
	}
	for _, n := range []string{"eth0", "eth1"} {
		host.NICs = append(host.NICs, watch.NIC{Name: n, In: rate * unit.BitRate(rng.Float64()), Out: rate})
	}
	for _, o := range []string{"READ", "WRITE", "GETATTR"} {
		host.Ops = append(host.Ops, watch.Op{Name: o, Rate: 1000 * rng.Float64(), Mean: time.Duration(rng.IntN(1e7)), Queue: time.Duration(rng.IntN(1e6))})
	}
	return watch.Picture{V: watch.PictureVersion, At: at, Path: host.Name + " – nas", Shown: watch.Named{State: watch.Moving, Limiter: model.PathLoss, Where: model.AtPath},
		Goodput: rate, Ceiling: &ceiling, Hosts: []watch.Host{host},
		Conns: []watch.Conn{{Host: host.Name, Out: rate, RTT: time.Duration(1e6 + rng.IntN(1e6)), Resent: 0.001, Busy: &busy, Window: &some, Buffer: &some, ByPath: &rest, ByApp: &rest}}}
}

// used is the CPU time of this process.
func used() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
