package fault

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

func TestParse(t *testing.T) {
	topo := twoPorts(topology.Namespace)
	for words, want := range map[string]string{ // printed form, or "!" and a part of the error
		"loss-random":                           "loss-random medium",
		"loss-random severe":                    "loss-random severe",
		"loss-random at link:client1-server1":   "loss-random medium at link:client1-server1",
		"loss-random mild at link:nope":         "!client1-switch1, switch1-server1",
		"loss-random mild at host:server1":      "!applies to a link",
		"loss-random wild":                      "!choose one of mild, medium, severe",
		"loss-random mild link:client1-server1": "!\"at TARGET\"",
		"slow-source mild at host:client1":      "!has no target",
		"los":                                   "!did you mean loss-random",
		"":                                      "!say which fault to inject",
		"link:client1-switch1 loss=0.1% delay=5ms rate=300Mbit/s":    "link:client1-switch1 loss=0.1% delay=5ms rate=300Mbit/s",
		"link:client1-switch1 loss=0.001 queue=64KB mtu=1500":        "link:client1-switch1 loss=0.1% queue=64KB mtu=1500",
		"link:client1-switch1 reorder=1% jitter=2000us direction=ab": "link:client1-switch1 reorder=1% jitter=2ms direction=ab",
		"link:client1-switch1 rate=1500kbit":                         "link:client1-switch1 rate=1500kbit/s",
		"link:nope loss=1%":                                          "!unknown link \"nope\"",
		"link:client1-switch1 colour=red":                            "!it has rate=300Mbit/s, delay=5ms",
		"link:client1-switch1 loss=101%":                             "!want 0% to 100%",
		"link:client1-switch1 loss=-1%":                              "!want 0% to 100%",
		"link:client1-switch1 loss=NaN":                              "!want a percentage",
		"link:client1-switch1 rate=0bit":                             "!want 8 kbit/s",
		"link:client1-switch1 rate=10":                               "!unit must be",
		"link:client1-switch1 delay=1h":                              "!want 0 to 10s",
		"link:client1-switch1 delay=5":                               "!want a unit too",
		"link:client1-switch1 mtu=20":                                "!from 68 to 65535",
		"link:client1-switch1 queue=1B":                              "!want 2000 to",
		"link:client1-switch1 loss=1% loss=2%":                       "!set twice",
		"link:client1-switch1 direction=ab":                          "!changes nothing",
		"link:client1-switch1 direction=up loss=1%":                  "!want ab",
		"link:client1-switch1":                                       "!key=value",
		"host:server1 mtu=1400 tso=off":                              "host:server1 mtu=1400 tso=off",
		"host:server1 net.ipv4.tcp_sack=0":                           "host:server1 net.ipv4.tcp_sack=0",
		"host:server1 tcp_rmem=65536":                                "!three rising sizes",
		"host:server1 kernel.panic=1":                                "!any sysctl of net.* or vm.*",
		"host:server1 net/../../x=1":                                 "!unknown key",
		"host:server1 net...x=1":                                     "!unknown key",
		"host:server1 tso=maybe":                                     "!on or off",
		"host:server1 fill=80":                                       "host:server1 fill=80%",
		"host:server1 fill.pool=5%":                                  "host:server1 fill.pool=5%",
		"host:server1 fill=99%":                                      "!1% to 97%",
		"host:server1 fill.=9%":                                      "!unknown key",
		"host:nobody mtu=1400":                                       "!unknown host \"nobody\": topology two-ports has client1, server1",
		"switch:switch1 mtu=1500":                                    "switch:switch1 mtu=1500",
		"switch:switch1 rate=1Gbit":                                  "!it has mtu",
		"switch:s9 mtu=1500":                                         "!has switch1",
		"router:r1 mtu=1500":                                         "!unknown kind of target",
	} {
		i, err := Parse(strings.Fields(words), topo)
		if part, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q: got %v, want an error with %q", words, err, part)
			}
			continue
		}
		if err != nil || i.String() != want {
			t.Errorf("%q: got %q, %v, want %q", words, i, err, want)
		}
	}
}

// TestByHandDoesWhatItSays checks the values that reach the lab.
func TestByHandDoesWhatItSays(t *testing.T) {
	lab := newFake(twoPorts(topology.Namespace))
	i, err := Parse([]string{"link:client1-switch1", "loss=0.1%", "rate=300Mbit/s", "queue=64KB", "reorder=2%", "burst=10", "duplicate=1%", "direction=ba"}, lab.topo)
	if err != nil {
		t.Fatal(err)
	}
	was := lab.Shapes("client1-switch1")
	undo, err := i.Inject(context.Background(), lab)
	if err != nil {
		t.Fatal(err)
	}
	want := was[1]
	want.Loss, want.Rate, want.Queue, want.LossBurst, want.Duplicate = 0.001, 300*unit.Mbit, 64*unit.KB, 10, 0.01
	want.Reorder, want.ReorderBy = 0.02, 4*time.Millisecond
	if got := lab.Shapes("client1-switch1"); got[0] != was[0] || got[1] != want {
		t.Errorf("got %+v", got)
	}
	if err := undo(context.Background()); err != nil || lab.Shapes("client1-switch1") != was {
		t.Errorf("undo: %v, %+v", err, lab.Shapes("client1-switch1"))
	}
	i, err = Parse([]string{"host:server1", "tcp_rmem=4096 \t 131072 262144"}, lab.topo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Inject(context.Background(), lab); err != nil || lab.state["server1 net.ipv4.tcp_rmem"] != "4096 131072 262144" {
		t.Errorf("%v, %v", err, lab.state)
	}
}

// TestByHandNeedsNoFlow: a user's topology may say nothing of its traffic.
func TestByHandNeedsNoFlow(t *testing.T) {
	topo := twoPorts(topology.Namespace)
	topo.Flow = topology.Flow{}
	for _, words := range []string{"link:client1-switch1 loss=1%", "host:server1 mtu=1400", "switch:switch1 mtu=1500"} {
		if _, err := Parse(strings.Fields(words), topo); err != nil {
			t.Errorf("%s: %v", words, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"loss-random severe at link:client1-server1", "link:client1-switch1 loss=0.1% delay=5ms rate=300.5Mbit/s queue=1500B reorder-by=3us",
		"host:server1 tcp_rmem=1\x002 mtu=1500", "switch:switch1 mtu=1500", "link:client1-switch1 loss=1e-9 burst=7 direction=both",
	} {
		f.Add(s)
	}
	topo := twoPorts(topology.Namespace)
	f.Fuzz(func(t *testing.T, words string) {
		i, err := Parse(strings.Split(words, "\x00"), topo)
		if err != nil {
			i, err = Parse(strings.Fields(words), topo)
		}
		if err != nil {
			return
		}
		again, err := parseBack(i, topo)
		if err != nil || !reflect.DeepEqual(i, again) {
			t.Errorf("%q prints as %q, which reads as %+v, %v", words, i, again, err)
		}
	})
}

// parseBack reads what i prints; a value may hold spaces, as an argument may.
func parseBack(i Injection, topo topology.Topology) (Injection, error) {
	if i.Fault != "" {
		return Parse(strings.Fields(i.String()), topo)
	}
	args := []string{i.Target}
	for _, s := range i.Settings {
		args = append(args, s.Key+"="+s.Value)
	}
	if got := strings.Join(args, " "); got != i.String() {
		return Injection{}, &time.ParseError{Value: got, Message: ": String says otherwise"}
	}
	return Parse(args, topo)
}
