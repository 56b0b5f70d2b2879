package fleet

import (
	"bufio"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestOutboxKeepsWhatIsNotThere(t *testing.T) {
	var o outbox
	at := time.Unix(1000, 0)
	sends := func() (out []uint64) {
		for {
			k, ok := o.next()
			if !ok {
				return out
			}
			out, o.sent = append(out, k.n), k.n
		}
	}
	for i := range 10 {
		o.put(make([]byte, flightSize/4), at.Add(time.Duration(i)*time.Minute))
	}
	for _, c := range []struct {
		have  uint64
		again bool
		want  []uint64
	}{
		{0, false, []uint64{1, 2, 3, 4}}, // what may be on its way
		{0, false, nil},
		{2, false, []uint64{5, 6}},
		{2, true, []uint64{3, 4, 5, 6}},
		{1, false, nil}, // an old word
		{99, false, nil},
	} {
		if o.has(c.have, c.again); !slices.Equal(c.want, sends()) {
			t.Errorf("has %d, again %t: want %v", c.have, c.again, c.want)
		}
	}
	if len(o.list) != 0 || o.bytes != 0 || o.sent != 10 {
		t.Errorf("%d are left, %d bytes, sent %d", len(o.list), o.bytes, o.sent)
	}
	for i := range 3 {
		o.put(make([]byte, 10*flightSize), at.Add(time.Duration(10+10*i)*time.Minute))
	}
	if got := sends(); !slices.Equal(got, []uint64{11}) { // one, however large
		t.Errorf("sent %v", got)
	}
	if size := o.old(at.Add(30*time.Minute + time.Second)); size != 20*flightSize || o.list[0].n != 13 {
		t.Errorf("%d bytes were too old; the first is %d", size, o.list[0].n)
	}
}

// All sessions of an agent keep so much together; what is over goes from the one that keeps most, the
// oldest first, and what it sends next tells from which number on it has all.
func TestAgentKeepsSoMuch(t *testing.T) {
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{keys: k, seq: map[string]uint64{}, Host: Host{Now: time.Now, Log: func(string) {}}}
	one, two := newServed(a, "one", Grant{}), newServed(a, "two", Grant{})
	a.sessions = map[string]*served{"one": one, "two": two}
	one.keep()
	two.keep()
	const each = 512 << 10
	one.push(make([]byte, each))
	for range keepBytes/each + 10 {
		two.push(make([]byte, each))
	}
	if got := a.keeping.Load(); got != keepBytes || len(one.out.list) != 1 || two.out.list[0].n != 12 {
		t.Errorf("%d bytes are kept, of the first session %d pieces, of the second from %d on", got, len(one.out.list), two.out.list[0].n)
	}
	// One that has all there is room for takes nothing from one that reads.
	for range 5 {
		one.push(make([]byte, each-1))
	}
	if got := a.keeping.Load(); got > keepBytes || got <= keepBytes-each || len(one.out.list) != 6 || two.out.list[0].n != 17 {
		t.Errorf("%d bytes are kept, of the first session %d pieces, of the second from %d on", got, len(one.out.list), two.out.list[0].n)
	}
	two.push(make([]byte, maxPart+1)) // no broker takes it
	one.forget()
	two.forget()
	if got := a.keeping.Load(); got != 0 {
		t.Errorf("%d bytes are kept by nobody", got)
	}
}

// What is kept comes once and in order; what the host keeps no more is a gap, and nothing is taken
// for what it is not.
func TestPushesComeOnceAndInOrder(t *testing.T) {
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{keys: k, c: Credential{Site: "lab"}, now: time.Now, sessions: map[string]*Session{}, closed: make(chan struct{})}
	close(l.closed) // it has no broker to be heard by
	s := newSession(l, IDOf(k.Public()), "nas1")
	var got []string
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(s); lines.Scan(); {
			got = append(got, lines.Text())
		}
	}()
	for _, p := range []struct{ push, from uint64 }{
		{1, 1}, {2, 1}, {2, 1}, // it came before
		{5, 1}, {4, 2}, // 3 is missing, and is kept
		{3, 3}, {4, 3}, {4, 3},
		{9, 8}, // 5 to 7 are kept no more, and 8 is on its way
		{8, 8}, {9, 8}, {1, 1},
	} {
		s.pushed(said{Push: p.push, From: p.from}, fmt.Append(nil, p.push))
	}
	s.end(nil)
	<-read
	if want := []string{"1", "2", "3", "4", "8", "9"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
