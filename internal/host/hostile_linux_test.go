package host

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/load/block"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/tune"
)

// hostCeiling is the memory that a host's agent can make its controller hold, in bytes, but
// for what a sampling's room grows by while it lasts.
const hostCeiling = 64 << 20

// peak is the most memory that objects take while do runs, above what they took before.
func peak(do func()) int64 {
	read := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	// What is garbage counts until it is collected, which a busy machine puts off.
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	before, most := read(), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, read())
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(stop)
	<-done
	return most - before
}

var attacks = []struct{ name, says string }{
	{"long-line", "more than 4194304 bytes"},
	{"elements", "decodes to more than 16 MiB"},
	{"nulls", "decodes to more than 16 MiB"},
	{"numbers-for-objects", "decodes to more than 16 MiB"},
	{"deep", "nests deeper than 64"},
	{"deep-objects", "nests deeper than 64"},
	{"batch", "not JSON"},
	{"members", "no message of this protocol"},
	{"endless", "more than 4194304 bytes"},
	{"stray-answers", ""},
	{"strays", ""},
}

// noAnswer is in the error of a call whose time is up.
const noAnswer = "no answer within"

func TestHostileAgentTakesNoMoreThanItsRoom(t *testing.T) {
	for i := 0; i < len(attacks); i += labtest.Every(5) {
		a := attacks[i]
		t.Run(a.name, func(t *testing.T) {
			t.Setenv(attackEnv, a.name)
			wantBounded(t, localEndpoint(t, "server1"), a.says)
		})
	}
}

// wantBounded asks a hostile agent for its history.
func wantBounded(t *testing.T, ep Endpoint, says string) {
	t.Helper()
	said := &logged{}
	c, err := Dial(t.Context(), ep, Options{Log: said.add, closeTime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	// How it ends is the attacker's business.
	defer func() { _ = c.Close() }()
	took := peak(func() { _, err = c.History(t.Context()) })
	t.Logf("%d MiB at most; %v", took>>20, err)
	if took > hostCeiling {
		t.Errorf("the agent made its controller take %d MiB", took>>20)
	}
	if says != "" {
		wantError(t, err, "host "+ep.Name, says)
		return
	}
	// On a busy machine a flood may last longer than a call, and less of it has come then: what it
	// may take holds all the same.
	atLeast := int64(30)
	if err != nil {
		wantError(t, err, noAnswer)
		atLeast = 1
	}
	if n := c.strays.Load(); n < atLeast || !strings.Contains(said.String(), "nobody asked") {
		t.Errorf("%d messages counted that nobody asked for; said: %s", n, said)
	}
	if n := len(c.samples); n > 0 {
		t.Errorf("%d samplings are kept that nobody began", n)
	}
}

func TestHostileAgentFloodsASampling(t *testing.T) {
	t.Setenv(attackEnv, "flood")
	c, err := Dial(t.Context(), localEndpoint(t, "server1"), Options{closeTime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	var stopErr error
	began := time.Now()
	took := peak(func() {
		stop, err := c.StartSampling(t.Context(), measure.Watch{}, time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		_, stopErr = stop()
	})
	t.Logf("%d MiB at most", took>>20)
	// The room of a sampling grows while it lasts, and on a busy machine a flood lasts.
	if lasted := int64(time.Since(began).Seconds() + 1); took > hostCeiling+lasted*roomPerSecond {
		t.Errorf("the flood took %d MiB in %d s", took>>20, lasted)
	}
	wantError(t, stopErr, "host server1")
	if said := stopErr.Error(); !strings.Contains(said, "samples took more than") && !strings.Contains(said, noAnswer) {
		t.Errorf("the sampling ended with %q", said)
	}
}

// Batches that unpack to far more than they are take no more than the others.
func TestHostileAgentSendsBombs(t *testing.T) {
	t.Setenv(attackEnv, "bombs")
	said := &logged{}
	c, err := Dial(t.Context(), localEndpoint(t, "server1"), Options{Log: said.add, closeTime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	began := time.Now()
	took := peak(func() {
		stop, err := c.StartSampling(t.Context(), measure.Watch{}, time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		// What can be read of them is a sampling; when it ends before that much came, it fails.
		if _, err := stop(); err != nil {
			wantError(t, err, "host server1")
		}
	})
	t.Logf("%d MiB at most", took>>20)
	if lasted := int64(time.Since(began).Seconds() + 1); took > hostCeiling+lasted*roomPerSecond {
		t.Errorf("the bombs took %d MiB in %d s", took>>20, lasted)
	}
	if !strings.Contains(said.String(), "cannot be read") {
		t.Errorf("said: %s", said)
	}
}

func TestHostileAgentOverSSH(t *testing.T) {
	for _, a := range attacks[:2/labtest.Every(2)] {
		t.Run(a.name, func(t *testing.T) {
			s := startSSHD(t, attackEnv+"="+a.name)
			n, err := ParseName(userName(t) + "@server1")
			if err != nil {
				t.Fatal(err)
			}
			ep, err := s.ssh(t).Reach(context.Background(), n, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantBounded(t, ep, a.says)
		})
	}
}

// What weigh says is at least what decoding takes, for what agents send.
func TestWeighIsAboveWhatIsTaken(t *testing.T) {
	labtest.OneGoroutine(t)
	times := list(`{"steps":[],"max_ns":0}`, 200)
	for _, tt := range []struct {
		text string
		into any
	}{
		{list("{}", 1<<20), &[]tune.Entry{}},
		{list("null", 1<<20), &[]tune.Entry{}},
		{list("{}", 1<<20), &[]model.Sample{}},
		{list(`"x"`, 1<<20), &[]string{}},
		{list("[]", 1<<20), &[]any{}},
		{list(`{"state":"present","value":{}}`, 1<<20), &[]model.Fact[model.Sample]{}},
		{times, &[]block.Times{}},
		{`{"a":` + list("{}", 1<<16) + `,"A":` + list("1", 1<<16) + `}`, &map[string][]tune.Entry{}},
	} {
		s := scales{text: []byte(tt.text), left: 1 << 40, types: &Types{}}
		if err := s.value(reflect.TypeOf(tt.into).Elem(), 0); err != nil {
			t.Fatal(err)
		}
		weighed := 1<<40 - s.left
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		// What is of another type is decoded as far as it goes all the same.
		_ = json.NewDecoder(bytes.NewReader([]byte(tt.text))).Decode(tt.into)
		runtime.GC()
		runtime.ReadMemStats(&after)
		// The decoder's own buffer holds the text twice at most.
		if took := int64(after.HeapAlloc) - int64(before.HeapAlloc) - 2*int64(len(tt.text)); took > weighed {
			t.Errorf("%T: weighed %d, took %d", tt.into, weighed, took)
		}
		runtime.KeepAlive(tt.into)
	}
}

func TestFactsOfThisHostAreFarBelowTheBounds(t *testing.T) {
	c, _ := dial(t, "here")
	f, err := c.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	n, err := weighed(b, reflect.TypeFor[*model.Facts](), &Types{})
	t.Logf("%d bytes as text, %d weighed", len(b), n)
	if err != nil || n > maxDecoded/8 || len(b) > maxAnswer/8 {
		t.Errorf("%d bytes as text, %d weighed, %v", len(b), n, err)
	}
}
