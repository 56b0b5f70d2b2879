package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	explained "linerate/internal/explain"
	"linerate/internal/facts"
	"linerate/internal/host"
	"linerate/internal/host/delta"
	"linerate/internal/kernel/kerneltest"
	"linerate/internal/loop"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/web"
)

// Of a site of many hosts each takes little memory: the goal is 1,000 hosts of 200 series within 300 MB.
// What is measured here has the hosts' side, too, and what there is once: some 70 of the 224 KiB
// that it gives. With a stream of zstd for each host it was 660.
const mostPerHost = 330 << 10

// TestMemoryOfAHost has a page, a history and a live view over hosts of some 300 series, half of which
// move data to the one beside them, until all windows are full.
func TestMemoryOfAHost(t *testing.T) {
	const hosts, beats = 40, 45
	c := newCrowd(t, hosts, beats)
	before := inUse()
	k, err := newKeeper(app.Env{Now: c.now, Getenv: func(string) string { return t.TempDir() }}, "crowd", unit.GiB)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- k.run(ctx) }()
	v := web.NewView("crowd", "test")
	l := loop.Live{Window: loop.LiveWindow, Step: 20 * time.Millisecond, Hold: loop.LiveHold, Now: c.now, Ends: c.ends()}
	var last atomic.Pointer[[]watch.Picture]
	var measuring sync.Mutex
	l.Show = func(all []watch.Picture) error {
		measuring.Lock()
		defer measuring.Unlock()
		k.show(all)
		last.Store(&all)
		select {
		case c.shown <- struct{}{}:
		default:
		}
		return v.Show(all)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	for n := range beats {
		c.beat(t, n)
	}
	paths := 0
	for _, p := range *last.Load() {
		if p.Shown.State == watch.Starting || p.Shown.State == watch.Lost || p.Goodput < 100*unit.Mbit {
			t.Errorf("%s: %s, %v", p.Path, p.Shown.State, p.Goodput)
		}
		paths++
	}
	if paths != hosts/4 {
		t.Errorf("%d paths, want %d", paths, hosts/4)
	}
	measuring.Lock() // nothing new is made meanwhile
	each := (inUse() - before) / hosts
	t.Logf("%d KiB a host", each>>10)
	if file := os.Getenv("LINERATE_HEAP_PROFILE"); file != "" {
		f, err := os.Create(file)
		if err == nil {
			err = pprof.WriteHeapProfile(f)
		}
		if err != nil {
			t.Error(err)
		}
		f.Close()
	}
	measuring.Unlock()
	if each > mostPerHost {
		t.Errorf("a host takes %d KiB, and is to take %d at most", each>>10, mostPerHost>>10)
	}
	runtime.KeepAlive(v)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := <-kept; err != nil {
		t.Error(err)
	}
}

// inUse is the memory of what lives: of the heap, and of goroutines' stacks.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools let go
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// crowd is many hosts, each an agent of its own over a pipe, that send a sample at each beat of a clock.
type crowd struct {
	agents []*agentOf
	at     atomic.Int64 // of the clock
	came   chan struct{}
	shown  chan struct{}
}

var clockZero = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func (c *crowd) now() time.Time { return clockZero.Add(time.Duration(c.at.Load())) }

// beat has all hosts send their next sample, and waits until a picture has them.
func (c *crowd) beat(t *testing.T, n int) {
	t.Helper()
	if n > 0 {
		c.at.Add(int64(time.Second))
	}
	for _, a := range c.agents {
		a.beats <- n
	}
	for range c.agents {
		c.wait(t, c.came)
	}
	for range 2 { // the first may have been under way
		c.wait(t, c.shown)
	}
}

func (c *crowd) wait(t *testing.T, on chan struct{}) {
	t.Helper()
	select {
	case <-on:
	case <-time.After(time.Minute):
		t.Fatal("nothing comes")
	}
}

// agentOf is a host: what it answers, and what is packed of its samples.
type agentOf struct {
	name    string
	facts   json.RawMessage
	batches []delta.Batch
	beats   chan int
	came    chan struct{}
}

func newCrowd(t *testing.T, hosts, beats int) *crowd {
	t.Helper()
	h, err := kerneltest.Load("../../../testdata/hosts/mlx-40g/host.txtar")
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{came: make(chan struct{}, hosts), shown: make(chan struct{}, 1)}
	for i := range hosts {
		f, err := facts.Read(t.Context(), h, fmt.Sprintf("n%d", i), clockZero)
		if err != nil {
			t.Fatal(err)
		}
		f.Hostname = f.Host
		f.NICs = append(f.NICs, model.NIC{Name: "data0", Up: true, Addrs: []netip.Prefix{netip.PrefixFrom(crowdAddr(i), 16)}})
		a := &agentOf{name: f.Host, beats: make(chan int, 1), came: c.came}
		if a.facts, err = json.Marshal(f); err != nil {
			t.Fatal(err)
		}
		var pack delta.Writer
		for n := range beats {
			text, err := json.Marshal(crowdSample(i, n, i < hosts/2))
			if err != nil {
				t.Fatal(err)
			}
			b, err := pack.Pack([][]byte{text}, n%10 == 0)
			if err != nil {
				t.Fatal(err)
			}
			a.batches = append(a.batches, b)
		}
		c.agents = append(c.agents, a)
	}
	return c
}

// ends are the hosts as a view of many hosts has them.
func (c *crowd) ends() (out []loop.LiveEnd) {
	var types host.Types
	for i, a := range c.agents {
		own, peers := []netip.Addr{crowdAddr(i)}, []netip.Addr{crowdAddr(i ^ 1)}
		out = append(out, loop.LiveEnd{Name: a.name, Own: func() []netip.Addr { return own }, Peers: func() []netip.Addr { return peers }, Dial: func(ctx context.Context) (loop.LiveAgent, error) {
			client, err := host.Dial(ctx, host.Endpoint{Name: a.name, Join: a.join}, host.Options{Types: &types})
			if err != nil {
				return nil, err
			}
			return counted{explain.LiveAgent{Client: client}, a}, nil
		}})
	}
	return out
}

// counted tells when a sample has come.
type counted struct {
	explain.LiveAgent
	a *agentOf
}

func (c counted) FollowSampling(ctx context.Context, w measure.Watch, every time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	return c.LiveAgent.FollowSampling(ctx, w, every, func(s model.Sample) {
		each(s)
		c.a.came <- struct{}{}
	})
}

// piped is a connection to an agent.
type piped struct {
	io.Reader
	io.WriteCloser
	out  *io.PipeReader
	gone chan struct{}
}

func (p piped) Close() error {
	return p.WriteCloser.Close()
}

func (p piped) Wait() error { <-p.gone; return nil }

func (a *agentOf) join(context.Context) (host.Stream, error) {
	in, to := io.Pipe()
	out, from := io.Pipe()
	p := piped{out, to, out, make(chan struct{})}
	go func() {
		defer close(p.gone)
		defer from.Close()
		a.serve(in, from)
	}()
	return p, nil
}

// serve answers until there are no more requests.
func (a *agentOf) serve(in io.Reader, out io.Writer) {
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format+"\n", args...) // a controller that is gone needs no answer
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), 1<<20)
	runs, done := 0, make(chan struct{})
	defer close(done)
	for lines.Scan() {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			return
		}
		switch r.Method {
		case "hello":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocol":%d,"build":"t","boot_id":"b","uid":0,"os":"linux","arch":"amd64","capabilities":[],"clock":"2026-11-26T12:00:00Z"}}`, r.ID, host.Protocol)
		case "facts":
			say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, a.facts)
		case "journal.history":
			say(`{"jsonrpc":"2.0","id":%s,"result":[]}`, r.ID)
		case "switch.hear":
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, r.ID)
		case "sample.start":
			runs++
			say(`{"jsonrpc":"2.0","id":%s,"result":{"id":%d}}`, r.ID, runs)
			if runs == 1 {
				go a.send(say, done)
			}
		case "sample.stop":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"count":0}}`, r.ID)
		}
	}
}

// send sends a sample at each beat.
func (a *agentOf) send(say func(string, ...any), done chan struct{}) {
	for {
		select {
		case <-done:
			return
		case n := <-a.beats:
			b := a.batches[n]
			text, err := json.Marshal(map[string]any{"id": 1, "n": n, "count": 1, "fresh": b.Fresh, "bytes": b.Bytes, "data": b.Data})
			if err != nil {
				panic(err)
			}
			say(`{"jsonrpc":"2.0","method":"samples","params":%s}`, text)
		}
	}
}

func crowdAddr(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 20, byte(i >> 8), byte(i)}) }

// crowdSample is what a host with 28 cores and 3 interfaces counts: some 300 numbers, most of which grow.
func crowdSample(i, n int, moves bool) model.Sample {
	s := model.Sample{V: model.SampleVersion, At: time.Duration(n) * time.Second, HostAt: clockZero.Add(time.Duration(n) * time.Second), SNMP: map[string]int64{}}
	grown := func(k int) int64 { return int64(i*1_000_003 + n*(k*7919+13)) }
	for k := range 28 {
		d := time.Duration(grown(k)) * time.Microsecond
		s.CPUs = append(s.CPUs, model.CPUTime{CPU: k, User: d, System: d / 2, SoftIRQ: d / 3, Idle: 3 * d, IOWait: d / 9})
		s.Softnet = append(s.Softnet, model.Softnet{CPU: k, Processed: grown(k)})
	}
	for k := range 3 {
		s.NICs = append(s.NICs, model.NICCount{Name: fmt.Sprintf("eth%d", k), RxBytes: grown(k) * 1000, TxBytes: grown(k + 1), RxPackets: grown(k), TxPackets: grown(k)})
		s.Qdiscs = append(s.Qdiscs, model.QdiscCount{Dev: fmt.Sprintf("eth%d", k), Kind: "fq_codel", Bytes: grown(k), Packets: grown(k)})
	}
	for k, name := range explained.Counters() {
		s.SNMP[name] = grown(k % 3)
	}
	if moves {
		moved := int64(n) * 117_000_000
		c := model.Conn{Local: netip.AddrPortFrom(crowdAddr(i), 2049), Remote: netip.AddrPortFrom(crowdAddr(i^1), 2049), Inode: uint32(1 + i), CC: "cubic", InfoLen: 248, State: 1,
			RTO: 204 * time.Millisecond, SndMSS: 1448, RcvMSS: 1448, AdvMSS: 1448, PMTU: 1500, Cwnd: 100, RTT: time.Millisecond, SndBuf: 4 << 20, RcvBuf: 6 << 20}
		if i%2 == 0 {
			c.BytesAcked, c.BytesSent, c.Busy = moved, moved, time.Duration(n)*time.Second
		} else {
			c.BytesReceived = moved
		}
		s.Conns = []model.Conn{c}
	}
	return s
}
