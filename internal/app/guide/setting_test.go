package guide

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/guide"
	"linerate/internal/unit"
)

// No value is worked out that kernels refuse.
func TestAValueForAPathIsOneThatKernelsTake(t *testing.T) {
	for _, c := range []struct {
		name  string
		rtt   time.Duration
		value string
		says  string
	}{
		{"linux.sysctl.net.ipv4.tcp_rmem", 10 * time.Millisecond, "1000000000", ""},
		{"linux.sysctl.net.ipv4.tcp_rmem", 60 * time.Millisecond, "", "one connection cannot fill that path, which takes a window of more than 1 GiB or a buffer of more than 2147483647 B: give the rate of one of 3 connections or more"},
		{"linux.sysctl.net.core.rmem_max", 60 * time.Millisecond, "", "one of 3 connections or more"},
		{"illumos.ipadm.tcp.recv_buf", 60 * time.Millisecond, "", "one of 6 connections or more"},
		{"linux.sysctl.net.ipv4.tcp_sack", 60 * time.Millisecond, "", "has none that follows from a rate"},
	} {
		s, ok := guide.Find(c.name)
		if !ok {
			t.Fatal(c.name)
		}
		v := Setting{Setting: s}
		switch err := v.WorkOut(400*unit.Gbit, c.rtt); {
		case err == nil && (c.says != "" || !strings.HasSuffix(v.ForPath.Value, c.value)):
			t.Errorf("%s: %+v", c.name, v.ForPath)
		case err != nil && (c.says == "" || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
