package loop

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/watch"
)

// tenConns are the ten connections of a client to a server, of which each moved so many bytes.
func tenConns(bytes int64) (out []model.Conn) {
	for k := range 10 {
		out = append(out, model.Conn{Local: netip.AddrPortFrom(sendAddr, uint16(20000+k)), Remote: netip.AddrPortFrom(recvAddr, 2049), State: 1,
			BytesAcked: bytes, BytesSent: bytes, SndMSS: 1448, Cwnd: 10, SndBuf: 1 << 20})
	}
	return out
}

// besideACrowd judges the path of a client, which shows some connections at a time, to a server with thousands,
// which sums up another amount, after eleven seconds. control is linerate's own process at the server.
func besideACrowd(client func(now time.Duration) []model.Conn, server crowdHost, control int) watch.Judgement {
	v := newTwoHosts(Target{}, Target{Control: control})
	for ; v.now <= 11*time.Second; v.now += sampleInterval {
		v.hear(0, model.Sample{Conns: client(v.now)})
		if v.now%time.Second == 0 {
			v.hear(1, server.at(v.now))
		}
	}
	return v.judge()
}

// A path with a crowd at one end is judged by the other only if that shows what the crowd sums up: a container or
// another network namespace hides connections, and linerate's own session is no data.
func TestACrowdIsNotJudgedByAnEndThatShowsLess(t *testing.T) {
	server := crowdHost{measure.CloseConns + 1, netip.AddrPortFrom(recvAddr, 20000), netip.AddrPortFrom(sendAddr, 2049), false, 0}
	const all = 8 * (10*5050e3 + 1e3) // 1001 connections of 1 to 100 kB a second
	moves := func(perSecond float64) func(time.Duration) []model.Conn {
		return func(now time.Duration) []model.Conn { return tenConns(int64(perSecond / 80 * now.Seconds())) }
	}
	for _, c := range []struct {
		name    string
		client  func(time.Duration) []model.Conn
		control int
		crowd   bool
	}{
		{"it shows none", func(time.Duration) []model.Conn { return nil }, 0, true},
		{"it shows a part", moves(all / 2), 0, true},
		{"it shows all", moves(all), 0, false},
		{"it shows linerate's own", moves(all * 3), 77, true},
	} {
		j := besideACrowd(c.client, server, c.control)
		off := float64(j.Goodput)/all - 1
		if j.Crowd != c.crowd || off < -0.02 || off > 0.02 || len(j.Conns) == 0 {
			t.Errorf("%s: %s, %v (%+.0f%%), %d connections: %s%s", c.name, j.State, j.Goodput, 100*off, len(j.Conns), j.Why, j.Verdict.Line)
		}
	}
}

// When the transfer of a few of thousands of connections ends, all of them are idle.
func TestAllOfACrowdAreIdleAfterATransfer(t *testing.T) {
	e := &liveEnd{LiveEnd: LiveEnd{Name: "server"}}
	a, b := crowdEnd{liveEnd: e, crowd: true, all: 2999}, crowdEnd{liveEnd: e, crowd: true, all: 3004}
	for _, ends := range [][]crowdEnd{{a, b}, {b, a}, {b}} {
		if j := rest(e.quiet(4), ends...); j.State != watch.Idle || j.Unlisted != 0 || j.Rest || j.Why != "3004 connections, and nothing moves" {
			t.Errorf("%+v", j)
		}
	}
	if j := rest(e.quiet(4), crowdEnd{liveEnd: e}); j.Why != "4 connections, and nothing moves" {
		t.Errorf("%+v", j)
	}
}

// The transfer of a client that another one follows, of other connections, is judged alone beside a crowd too.
func TestATransferAfterAnotherIsJudgedAloneBesideACrowd(t *testing.T) {
	const turns, before, after = 6 * time.Second, 6e6, 11e6 // bytes a second of each of ten
	client := func(now time.Duration) []model.Conn {
		out := tenConns(int64(before * now.Seconds()))
		if now < turns {
			return out
		}
		for i := range out {
			n := int64(after * (now - turns).Seconds())
			out[i].Inode, out[i].BytesAcked, out[i].BytesSent = 9, n, n
		}
		return out
	}
	server := crowdHost{measure.CloseConns + 1, netip.AddrPortFrom(recvAddr, 20000), netip.AddrPortFrom(sendAddr, 2049), false, 0}
	j := besideACrowd(client, server, 0)
	if off := float64(j.Goodput)/(8*10*after) - 1; j.Crowd || off < -0.02 || off > 0.02 {
		t.Errorf("%s, %v (%+.0f%%): %s%s", j.State, j.Goodput, 100*off, j.Why, j.Verdict.Line)
	}
}
