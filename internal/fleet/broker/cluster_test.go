package broker

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"linerate/internal/fleet"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// cluster starts three brokers of the site that know each other, in place of its one.
func (s *site) cluster() []*Broker {
	s.t.Helper()
	var meet []string
	for range 3 {
		meet = append(meet, freeAddress(s.t))
	}
	var all []*Broker
	s.m.Servers = nil
	for i := range meet {
		task, err := s.m.Broker("127.0.0.1", -1, nil, time.Now())
		if err != nil {
			s.t.Fatal(err)
		}
		task.Cluster = meet[i]
		for j, other := range meet {
			if j != i {
				task.Routes = append(task.Routes, "nats://"+other)
			}
		}
		b, err := Start(task)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(b.Close)
		all, s.m.Servers = append(all, b), append(s.m.Servers, b.URL())
	}
	for _, b := range all {
		for b.s.NumRoutes() < 2 {
			select {
			case <-s.t.Context().Done():
				s.t.Fatal("the brokers do not meet")
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return all
}

// A session goes on while brokers of the cluster die, with the same answers as before; what was
// asked is carried out once.
func TestClusterThatLosesBrokers(t *testing.T) {
	s := newSite(t)
	brokers := s.cluster()
	nas := s.issue(fleet.Agent, "nas1")
	s.host(nas, time.Now)
	sess, r := open(t, s.link(s.issue(fleet.Controller, "ada")), nas)
	for i := range 3 {
		if i > 0 {
			brokers[i-1].Close() // whoever was connected there goes to another
		}
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":8,"result":{"n":%d,"said":{"a":2}}}`, i+1)
		if got := ask(t, sess, r, changeIt); strings.TrimSpace(got) != want {
			t.Errorf("with %d brokers: %s, want %s", 3-i, got, want)
		}
	}
}
