package broker

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"linerate/internal/fleet"
)

// A session whose answers nobody reads holds up no other.
func TestSessionThatIsNotRead(t *testing.T) {
	s := newSite(t)
	nas, other := s.issue(fleet.Agent, "nas1"), s.issue(fleet.Agent, "nas2")
	s.host(nas, time.Now)
	s.host(other, time.Now)
	l := s.link(s.issue(fleet.Controller, "ada"))
	deaf, _ := open(t, l, nas)
	sess, r := open(t, l, other)
	for range 3 {
		if _, err := io.WriteString(deaf, readIt+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if got := ask(t, sess, r, readIt); !strings.Contains(got, "result") {
			t.Error(got)
		}
	}
}

// sample is what a host says by itself.
func sample(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"sample","params":{"n":%d,"is":%q}}`, n, strings.Repeat("x", 1000))
}

// hears reads samples from one number to another, each once and in order.
func hears(t *testing.T, s *fleet.Session, r *bufio.Reader, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("sample %d: %v; the session: %v", n, err, s.Wait())
		}
		if line != sample(n)+"\n" {
			t.Fatalf("%.60s… came where sample %d was to come", line, n)
		}
	}
}

// What a host says while its broker is away, and what was on its way when that died, comes once the
// broker is back: all of it, once, and in order.
func TestSamplesAreKeptWhileTheBrokerIsAway(t *testing.T) {
	s := newSite(t)
	nas := s.issue(fleet.Agent, "nas1")
	s.host(nas, time.Now)
	sess, r := open(t, s.link(s.issue(fleet.Controller, "ada")), nas)
	if got := ask(t, sess, r, readIt); !strings.Contains(got, "result") { // the host keeps samples before it is asked this
		t.Fatal(got)
	}
	for n := range 3 {
		s.say <- sample(n)
	}
	hears(t, sess, r, 0, 3)
	port := portOf(t, s.b)
	for n := 3; n < 20; n++ {
		s.say <- sample(n)
	}
	s.b.Close()
	for n := 20; n < 200; n++ {
		s.say <- sample(n)
	}
	s.b = start(t, s.m, port)
	hears(t, sess, r, 3, 200)
	for n := 200; n < 210; n++ {
		s.say <- sample(n)
	}
	hears(t, sess, r, 200, 210)
	if got := ask(t, sess, r, readIt); !strings.Contains(got, "result") {
		t.Error(got)
	}
}

// A controller that does not read gets all of it later: the host keeps it, and sends no more than
// fits on the way.
func TestSlowConsumerLosesNothing(t *testing.T) {
	s := newSite(t)
	nas := s.issue(fleet.Agent, "nas1")
	s.host(nas, time.Now)
	sess, r := open(t, s.link(s.issue(fleet.Controller, "ada")), nas)
	if got := ask(t, sess, r, readIt); !strings.Contains(got, "result") {
		t.Fatal(got)
	}
	const many = 3000
	for n := range many {
		s.say <- sample(n)
	}
	hears(t, sess, r, 0, many)
}
