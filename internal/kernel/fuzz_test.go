package kernel

import (
	"strings"
	"testing"
)

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statText))
	f.Fuzz(func(t *testing.T, b []byte) {
		cpus, err := ParseStat(b)
		if err == nil && len(cpus) == 0 {
			t.Error("no core and no error")
		}
		for _, c := range cpus {
			if c.System < 0 || c.Idle < 0 || c.SoftIRQ < 0 {
				t.Errorf("negative time in %+v", c)
			}
		}
	})
}

func FuzzParseSoftnet(f *testing.F) {
	f.Add([]byte("0000000a 00000001 00000002 0 0 0 0 0 0 0 0 0 00000000 0 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSoftnet(b)
		for _, c := range s {
			if err == nil && (c.CPU < 0 || c.Processed < 0) {
				t.Errorf("negative value in %+v", c)
			}
		}
	})
}

func FuzzParseNetstat(f *testing.F) {
	f.Add([]byte("Tcp: MaxConn RetransSegs\nTcp: -1 7\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := ParseNetstat(b, map[string]int64{}); err == nil && len(b) > 0 && b[0] == '\n' {
			t.Error("an empty line was taken for counters")
		}
	})
}

func FuzzParseTask(f *testing.F) {
	f.Add([]byte("42 (a) b (c)) S 1 42 42 0 -1 4194304 10 0 0 0 150 50 0 0 20 0 3 0 100 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n"))
	f.Add([]byte("1500 2500 3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseTaskStat(b); err == nil && (s.Core < 0 || s.CPU < 0) {
			t.Errorf("negative value in %+v", s)
		}
		if cpu, wait, err := ParseSchedstat(b); err == nil && (cpu < 0 || wait < 0) {
			t.Errorf("negative time %v %v", cpu, wait)
		}
	})
}

func FuzzParseCPUList(f *testing.F) {
	f.Add("0-2,8")
	f.Add("socket:[12]")
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseCPUList(s)
		if err == nil && len(cpus) > 2*MaxCPUs {
			t.Errorf("%d CPUs", len(cpus))
		}
		ParseSocketLink(s)
	})
}

func FuzzParseMountinfo(f *testing.F) {
	f.Add([]byte("27 1 254:0 / /a\\040b rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		mounts, err := ParseMountinfo(b)
		for _, m := range mounts {
			if err == nil && m.Options == nil {
				t.Errorf("mount without a map of options: %+v", m)
			}
		}
		if nodes, terr := ParseMountTree(b); len(nodes) != len(mounts) && err == nil || (terr == nil) != (err == nil) {
			t.Errorf("%d nodes (%v) of %d mounts (%v)", len(nodes), terr, len(mounts), err)
		}
	})
}

func FuzzParseMountstats(f *testing.F) {
	f.Add(readTestdata(f, "mountstats"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseMountstats(b, "/mnt/nas")
		if (c == nil) == (err == nil) {
			t.Errorf("counters %v and error %v", c, err)
		}
	})
}

func FuzzParseCPUGroup(f *testing.F) {
	f.Add([]byte("1:cpuacct,cpu:/box\n0::/../other\n"))
	f.Add([]byte("nr_throttled 1\nthrottled_usec 1500\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := ParseCPUGroup(b); err == nil && g.Path[0] != '/' {
			t.Errorf("relative path %q", g.Path)
		}
		if d, _, err := ParseThrottled(b); err == nil && d < 0 {
			t.Errorf("negative time %v", d)
		}
	})
}

func FuzzEthtool(f *testing.F) {
	f.Add(make([]byte, 196), "tx-tcp-segmentation")
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		parseDriver(b)
		parseSettings(b)
		names := parseFeatureNames(b)
		parseFeatures(names, b)
		if req, err := featureRequest(names, map[string]bool{name: true}); err == nil && len(req) < 8 {
			t.Errorf("request of %d bytes", len(req))
		}
	})
}

func FuzzParseOwnCgroups(f *testing.F) {
	f.Add("4:memory,cpu:/a/b\n0::/user.slice\n")
	f.Fuzz(func(t *testing.T, text string) {
		for controller, path := range OwnCgroups(text) {
			if path != "" && !strings.Contains(text, path) || !strings.Contains(text, controller) {
				t.Errorf("%q: %q was made up", controller, path)
			}
		}
	})
}

func FuzzParseVnet(f *testing.F) {
	f.Add(make([]byte, VnetHeaderLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, ok := ParseVnet(b); ok != (len(b) >= VnetHeaderLen) {
			t.Errorf("%d bytes: %v", len(b), ok)
		}
	})
}
