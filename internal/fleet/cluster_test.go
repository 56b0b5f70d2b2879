package fleet

import (
	"fmt"
	"testing"
)

func TestPortsOfABroker(t *testing.T) {
	for server, want := range map[string]string{"nats://a": "a [4222 6222]", "nats://10.0.0.5:4300": "10.0.0.5 [4300 6300]", "nats://a:64000": "a [64000]", "nats://a:70000": " []"} {
		host, ports, err := Ports(server)
		if got := fmt.Sprint(host, " ", ports); got != want || (err != nil) != (host == "") {
			t.Errorf("%s: %s %v, want %s", server, got, err, want)
		}
	}
}
