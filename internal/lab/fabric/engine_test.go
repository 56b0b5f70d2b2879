package fabric

import (
	"slices"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// bench is an engine on fake ports and a clock that its waits move on.
type bench struct {
	engine *engine
	links  map[string][2]*line
	hubs   map[string]*hub
	ports  []*fakePort
	now    time.Duration
	waits  []time.Duration
}

// fakePort hands out frames and keeps what is sent.
type fakePort struct {
	b     *bench
	in    [][]byte
	ages  []time.Duration // how long ago each frame of in had arrived at start
	start time.Time
	sent  [][]byte
	at    []time.Duration
}

func (p *fakePort) Next() ([]byte, time.Time) {
	if len(p.in) == 0 {
		return nil, time.Time{}
	}
	return p.in[0], p.start.Add(-p.ages[0])
}

func (p *fakePort) Release() { p.in, p.ages = p.in[1:], p.ages[1:] }

func (p *fakePort) Send(f []byte) (bool, error) {
	p.sent = append(p.sent, slices.Clone(f))
	p.at = append(p.at, p.b.now)
	return true, nil
}

func (p *fakePort) put(frame []byte, age time.Duration) {
	p.in, p.ages = append(p.in, frame), append(p.ages, age)
}

func newBench(t *testing.T, c Config) *bench {
	t.Helper()
	b := &bench{now: time.Second}
	var ports []port
	for range c.Ports {
		p := &fakePort{b: b, start: b.wall()}
		b.ports, ports = append(b.ports, p), append(ports, p)
	}
	wait := func(d time.Duration, _ bool) error {
		b.waits = append(b.waits, d)
		b.now += d
		if d == longestWait {
			b.engine.stop.Store(true)
		}
		return nil
	}
	var err error
	if b.engine, b.links, b.hubs, err = newEngine(c, ports, func() time.Duration { return b.now }, wait); err != nil {
		t.Fatal(err)
	}
	b.engine.wall = b.wall
	return b
}

// wall goes with the bench's clock, so that a machine that stops the test changes nothing.
func (b *bench) wall() time.Time { return time.Unix(1e9, 0).Add(b.now) }

func (b *bench) run(t *testing.T) {
	t.Helper()
	b.engine.stop.Store(false)
	if err := b.engine.run(); err != nil {
		t.Fatal(err)
	}
}

func cable(s topology.Shape) Config {
	return Config{Ports: []Port{{Name: "a.eth0"}, {Name: "b.eth0"}}, Links: []Link{{ID: "a-b", A: "a.eth0", B: "b.eth0", Shapes: [2]topology.Shape{s, s}}}}
}

// star is three hosts on one switch.
func star(mtu int, s topology.Shape) Config {
	c := Config{Switches: []Switch{{Name: "sw", MTU: mtu}}}
	for _, h := range []string{"a", "b", "c"} {
		c.Ports = append(c.Ports, Port{Name: h + ".eth0"})
		c.Links = append(c.Links, Link{ID: h + "-sw", A: h + ".eth0", B: "sw", Shapes: [2]topology.Shape{s, s}})
	}
	return c
}

// from is a frame of n payload bytes from one MAC to another; 0 is broadcast.
func from(src, dst byte, n int) []byte {
	f := tcpFrame(false, n, 8948, 0)
	eth := f[kernel.VnetHeaderLen:]
	copy(eth[6:12], []byte{2, 0, 0, 0, 0, src})
	copy(eth[0:6], []byte{2, 0, 0, 0, 0, dst})
	if dst == 0 {
		copy(eth[0:6], []byte{255, 255, 255, 255, 255, 255})
	}
	return f
}

func TestFramesWaitForTheirTime(t *testing.T) {
	b := newBench(t, cable(topology.Shape{Delay: 3 * time.Millisecond}))
	b.ports[0].put(tcpFrame(false, 10, 1448, 0), 0)
	b.ports[0].put(tcpFrame(false, 20, 1448, 0), 0)
	b.run(t)
	if p := b.ports[1]; len(p.sent) != 2 || p.at[0] > time.Second+3*time.Millisecond {
		t.Errorf("sent %d frames at %v", len(p.sent), p.at)
	}
	if late := b.links["a-b"][0].count.snapshot().LatestSend; late > time.Millisecond {
		t.Errorf("sent %s late", late)
	}
}

// A thread that was held up for 20 ms finds frames that came in that time. The
// wire sent them meanwhile: the queue was never full.
func TestTimeCountsWhileHeldUp(t *testing.T) {
	b := newBench(t, cable(topology.Shape{Rate: unit.Gbit, Delay: 5 * time.Millisecond, Queue: 20 * 1538}))
	for i := range 20 { // 0.12 ms of wire each, 1 ms apart
		b.ports[0].put(tcpFrame(false, 10*1448, 1448, 0), time.Duration(20-i)*time.Millisecond)
	}
	b.run(t)
	if c := b.links["a-b"][0].count.snapshot(); len(b.ports[1].sent) != 20 || c.QueueDrops != 0 {
		t.Errorf("%d frames passed, %d segments dropped; want 20 and none", len(b.ports[1].sent), c.QueueDrops)
	}
}

func TestSwitchLearns(t *testing.T) {
	b := newBench(t, star(9216, topology.Shape{}))
	b.ports[0].put(from(1, 2, 100), 0) // b is not known yet: everywhere
	b.run(t)
	b.ports[1].put(from(2, 1, 100), 0) // a is known
	b.run(t)
	b.ports[0].put(from(1, 2, 100), 0) // and b now
	b.run(t)
	b.ports[2].put(from(3, 0, 100), 0) // broadcast
	b.run(t)
	for i, want := range []int{2, 3, 1} {
		if got := len(b.ports[i].sent); got != want {
			t.Errorf("port %d got %d frames, want %d", i, got, want)
		}
	}
}

func TestSwitchDropsWhatIsTooLarge(t *testing.T) {
	b := newBench(t, star(1500, topology.Shape{}))
	b.ports[0].put(from(1, 2, 1448), 0)
	b.ports[0].put(from(1, 2, 1449), 0)
	b.run(t)
	if n := len(b.ports[1].sent); n != 1 || b.hubs["sw"].drops.Load() != 1 {
		t.Errorf("%d frames passed, %d dropped; want 1 and 1", n, b.hubs["sw"].drops.Load())
	}
}

// Two senders share the port of a third host: their sum is held to its rate,
// and delays of both links add up.
func TestPortOfASwitchIsShared(t *testing.T) {
	b := newBench(t, star(9216, topology.Shape{Rate: unit.Gbit, Delay: time.Millisecond, Queue: unit.MiB}))
	b.ports[2].put(from(3, 1, 10), 0) // so that the switch knows c
	b.run(t)
	start := b.now
	for range 50 {
		for i := range 2 {
			b.ports[i].put(from(byte(i+1), 3, 1448), 0)
		}
	}
	b.ports[0].start, b.ports[1].start = b.wall(), b.wall()
	b.run(t)
	p := b.ports[2]
	air := 1538 * 8 * time.Nanosecond
	least := start + 2*time.Millisecond + 100*air
	if n := len(p.sent); n != 100 || p.at[n-1] < least-time.Millisecond {
		t.Errorf("%d frames, the last at %s; want 100, not before %s", n, p.at[n-1], least)
	}
}

func TestShapesChangeWhileTrafficFlows(t *testing.T) {
	b := newBench(t, cable(topology.Shape{}))
	b.engine.reshape(b.links["a-b"][0], topology.Shape{Loss: 1})
	b.ports[0].put(tcpFrame(false, 10, 1448, 0), 0)
	b.run(t)
	if len(b.ports[1].sent) != 0 || b.links["a-b"][0].count.lost.Load() != 1 {
		t.Error("a link that loses everything let a frame through")
	}
}

func TestWiringThatIsWrong(t *testing.T) {
	good := cable(topology.Shape{})
	for name, change := range map[string]func(*Config){
		"no such port":      func(c *Config) { c.Links[0].B = "c.eth0" },
		"port on two links": func(c *Config) { c.Links = append(c.Links, c.Links[0]) },
		"port on no link":   func(c *Config) { c.Ports = append(c.Ports, Port{Name: "d.eth0"}) },
	} {
		c := good
		c.Links = slices.Clone(good.Links)
		change(&c)
		if _, _, _, err := newEngine(c, make([]port, len(c.Ports)), nil, nil); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestNetemShape(t *testing.T) {
	n, tbf := netemShape("sw1", topology.Shape{Rate: unit.Gbit, Delay: 5 * time.Millisecond, Loss: 0.001, MTU: 1500, Queue: 1_250_000})
	if n != (kernel.Netem{Dev: "sw1", Delay: 5000, Loss: 0.001, Limit: netemLimit}) {
		t.Errorf("%+v", n)
	}
	// 1514 of the 1538 bytes that a full frame takes on the wire; the queue
	// and 20 ms more.
	want := kernel.TokenBucket{Dev: "sw1", Parent: kernel.NetemParent, Rate: unit.Gbit * 1514 / 1538, Burst: 500_000, Limit: 3_750_000}
	if *tbf != want {
		t.Errorf("%+v, want %+v", *tbf, want)
	}
	if _, tbf := netemShape("sw1", topology.Shape{}); tbf != nil {
		t.Errorf("unlimited rate is shaped: %+v", tbf)
	}
}
