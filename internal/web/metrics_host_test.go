package web

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// counting is a view that is fed with what a kernel counts of one connection.
type counting struct {
	v          *View
	at         time.Duration
	inode      uint32
	busy, rwnd time.Duration
	stale      bool
	closed     bool // the connection is gone, and still in the picture's window
}

// pass lets time go on, in which the connection was busy and waited for the window, and shows two
// paths of the host, one of which has the connection.
func (c *counting) pass(t *testing.T, long, busy, rwnd time.Duration) {
	t.Helper()
	c.at, c.busy, c.rwnd = c.at+long, c.busy+busy, c.rwnd+rwnd
	share := 1.0
	from, to := netip.MustParseAddrPort("10.0.0.1:5000"), netip.MustParseAddrPort("10.0.0.2:2049")
	h := watch.Host{Name: "a", Stale: c.stale, Last: &model.Sample{At: c.at, Conns: []model.Conn{{Local: from, Remote: to, Inode: c.inode, Busy: c.busy, RwndLimited: c.rwnd}}}}
	if c.closed {
		h.Last.Conns = nil
	}
	conn := watch.Conn{Host: "a", Local: from, Remote: to, Busy: &share, Window: &share, Buffer: &share, ByApp: &share}
	p := watch.Picture{At: noon.Add(c.at), Path: "with", Hosts: []watch.Host{h}, Conns: []watch.Conn{conn}}
	q := watch.Picture{At: noon.Add(c.at), Path: "without", Hosts: []watch.Host{h}}
	if err := c.v.Show([]watch.Picture{q, p}); err != nil {
		t.Fatal(err)
	}
}

func (c *counting) want(t *testing.T, when string, busy, rwnd, nothing float64) {
	t.Helper()
	w := c.v.waits["with"]
	if got := [3]float64{w.busy.Seconds(), w.window.Seconds(), w.nothing.Seconds()}; got != [3]float64{busy, rwnd, nothing} {
		t.Errorf("%s: busy, receive window and nothing to send are %v s", when, got)
	}
	if w := c.v.waits["without"]; w != (waits{}) {
		t.Errorf("%s: a path without the connection has %+v", when, w)
	}
}

// The time that connections waited is what their kernels counted, once.
func TestWaitsAreWhatKernelsCounted(t *testing.T) {
	v, _ := serve(t)
	c := &counting{v: v, inode: 7, busy: time.Hour, rwnd: time.Minute}
	c.pass(t, time.Second, 0, 0)
	c.want(t, "what was before the view", 0, 0, 0)
	c.pass(t, time.Second, time.Second/2, time.Second/4)
	c.want(t, "a second", 0.5, 0.25, 0.5)
	c.pass(t, 4*time.Second, 3*time.Second, 0) // a picture that came late
	c.want(t, "four seconds", 3.5, 0.25, 1.5)
	c.stale = true
	c.pass(t, 10*time.Second, 5*time.Second, 5*time.Second)
	c.want(t, "a silent host", 3.5, 0.25, 1.5)
	c.stale = false
	c.pass(t, time.Second, 0, 0)
	c.want(t, "it is heard again", 8.5, 5.25, 7.5)
	c.closed = true
	c.pass(t, time.Second, 0, 0)
	c.pass(t, time.Second, 0, 0)
	c.want(t, "a connection that is closed", 8.5, 5.25, 7.5)
	c.closed, c.inode, c.busy, c.rwnd = false, 8, 0, 0 // another of the same ends
	c.pass(t, time.Second, time.Second, 0)
	c.want(t, "another connection", 8.5, 5.25, 7.5)
	c.pass(t, time.Second, time.Second, 0)
	c.want(t, "another connection, a second later", 9.5, 5.25, 7.5)
	c.busy = 0 // counters that go back
	c.pass(t, time.Second, 0, 0)
	c.want(t, "counters that go back", 9.5, 5.25, 7.5)
	if n := len(v.counted); n != 1 {
		t.Errorf("%d connections are remembered", n)
	}
}

// Queues have series only where that is asked for, each once, and they are the first to be cut.
func TestQueuesHaveSeriesByOption(t *testing.T) {
	p := picture(watch.Moving, model.PathLoss)
	p.Hosts = p.Hosts[:1]
	p.Hosts[0].Name = "a"
	p.Hosts[0].Last = &model.Sample{CPUs: []model.CPUTime{{CPU: 0}}, Softnet: []model.Softnet{{CPU: 1, Processed: 7, Dropped: 2, Squeezed: 3}, {CPU: 1}}}
	for q := range 700 {
		p.Hosts[0].Last.Queues = append(p.Hosts[0].Last.Queues, model.QueueCount{Dev: "eth0", Queue: q, Bytes: 100, Drops: 4, Backlog: 5}, model.QueueCount{Dev: "eth0", Queue: q})
	}
	for _, asked := range []bool{false, true} {
		v, s := serve(t)
		if asked {
			v.PerQueue()
		}
		if err := v.Show([]watch.Picture{p}); err != nil {
			t.Fatal(err)
		}
		_, body := get(t, s.URL+"/metrics", nil)
		for _, series := range []string{`linerate_nic_queue_bytes_total{host="a",nic="eth0",queue="3"} 100`, `linerate_nic_queue_drops_total{host="a",nic="eth0",queue="3"} 4`, `linerate_nic_queue_backlog_bytes{host="a",nic="eth0",queue="3"} 5`} {
			if strings.Contains(body, series+"\n") != asked {
				t.Errorf("asked for: %v; %s", asked, series)
			}
		}
		cut := "0" // of 6 of a core, 2,100 of queues and 3 of a core that receives
		if asked {
			cut = "109"
		}
		if !strings.Contains(body, `linerate_series_dropped_total{host="a"} `+cut+"\n") || !strings.Contains(body, `linerate_cpu_seconds_total{cpu="0",host="a",mode="idle"} 0`) {
			t.Errorf("asked for: %v: %s are not cut", asked, cut)
		}
	}
	p.Hosts[0].Last.Queues = nil
	v, s := serve(t)
	v.PerQueue()
	if err := v.Show([]watch.Picture{p}); err != nil {
		t.Fatal(err)
	}
	_, body := get(t, s.URL+"/metrics", nil)
	for _, series := range []string{`linerate_softnet_packets_total{cpu="1",host="a"} 7`, `linerate_softnet_drops_total{cpu="1",host="a"} 2`, `linerate_softnet_squeezes_total{cpu="1",host="a"} 3`} {
		if !strings.Contains(body, series+"\n") {
			t.Errorf("no %s", series)
		}
	}
}

// Of a host that tells some of its connections the path has the times of all.
func TestWaitsOfACrowdAreThoseOfAll(t *testing.T) {
	v, _ := serve(t)
	from, to := netip.MustParseAddrPort("10.0.0.1:5000"), netip.MustParseAddrPort("10.0.0.2:2049")
	share := 1.0
	pass := func(at, since, busy time.Duration) {
		t.Helper()
		h := watch.Host{Name: "a", Last: &model.Sample{At: at, Conns: []model.Conn{{Local: from, Remote: to, Busy: busy / 900}},
			Totals: []model.ConnTotal{{Remote: netip.MustParseAddr("10.0.0.3"), Since: since, Busy: 7 * busy}, {Remote: to.Addr(), Since: since, Conns: 900, Busy: busy, RwndLimited: busy / 2, Nothing: busy / 4}}}}
		p := watch.Picture{At: noon.Add(at), Path: "with", Hosts: []watch.Host{h}, Conns: []watch.Conn{{Host: "a", Local: from, Remote: to, Busy: &share}}}
		if err := v.Show([]watch.Picture{p}); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		since, busy time.Duration
		want        float64
	}{{1, 100 * time.Second, 0}, {1, 500 * time.Second, 400}, {2, 40 * time.Second, 400}, {2, 80 * time.Second, 440}} {
		pass(time.Duration(i)*time.Second, c.since, c.busy)
		if w := v.waits["with"]; w.busy.Seconds() != c.want || w.window != w.busy/2 || w.nothing != w.busy/4 {
			t.Errorf("picture %d: %+v, want %v s", i, w, c.want)
		}
	}
}
