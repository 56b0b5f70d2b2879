package script

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/guide"
	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/systems"
)

// papersHead is above the table in docs/systems.md.
const papersHead = "| setting | of | read | judged | planned, scripted, applied | undone in a test |\n|---|---|---|---|---|---|\n"

// judgements are a value of each setting, and what the guide says of it where it is in force.
func judgements() map[string][2]string {
	return map[string][2]string{
		"any.zfs.compression":                                 {"off", "valid"},
		"any.zfs.dedup":                                       {"on", "stale"},
		"any.zfs.primarycache":                                {"metadata", "stale"},
		"any.zfs.slog":                                        {"log device", "valid"},
		"any.zfs.sync":                                        {"disabled", "harmful"},
		"illumos.dladm.mtu":                                   {"1280", "stale"},
		"illumos.driver.ixgbe.intr_throttling":                {"0", "valid"},
		"illumos.ipadm.tcp.max_buf":                           {"524288", "harmful"},
		"illumos.ipadm.tcp.recv_buf":                          {"128000", "valid"},
		"illumos.ipadm.tcp.send_buf":                          {"49152", "valid"},
		"illumos.sharectl.nfs.lockd_servers":                  {"1024", "no-op"},
		"illumos.stmf.write_cache":                            {"false", "harmful"},
		"illumos.system.nfs.nfs3_bsize":                       {"1048576", "wrong side"},
		"illumos.system.nfs.nfs3_max_threads":                 {"1024", "wrong side"},
		"illumos.system.nfs.nfs3_max_transfer_size":           {"32768", "harmful"},
		"illumos.system.nfs.nfs3_nra":                         {"32", "wrong side"},
		"illumos.system.sata.sata_auto_online":                {"1", "no-op"},
		"illumos.system.sd.sd_io_time":                        {"0x8", "harmful"},
		"illumos.system.zfs.l2arc_noprefetch":                 {"0", "valid"},
		"illumos.system.zfs.zfs_arc_max":                      {"0x400000000", "stale"},
		"macos.file.nsmb_conf":                                {"signing_required=yes", "valid"},
		"macos.file.sysctl_conf":                              {"net.inet.tcp.sendspace", "stale"},
		"macos.link.mtu":                                      {"9000", "valid"},
		"macos.sysctl.net.inet.tcp.delayed_ack":               {"3", "no-op"},
		"macos.sysctl.net.inet.tcp.recvspace":                 {"1048576", "valid"},
		"macos.sysctl.net.inet.tcp.rfc1323":                   {"1", "no-op"},
		"macos.sysctl.net.inet.tcp.sendspace":                 {"1048576", "valid"},
		"onefs.file.access_pattern":                           {"streaming", "valid"},
		"onefs.file.protection":                               {"+1", "harmful"},
		"onefs.network.aggregation":                           {"roundrobin", "stale"},
		"onefs.network.mtu":                                   {"9000", "valid"},
		"onefs.sysctl.efs.bam.fnprefetch.enable_concurrent":   {"1", "valid"},
		"onefs.sysctl.efs.bam.fnprefetch.enable_streaming":    {"1", "valid"},
		"onefs.sysctl.efs.bam.fnprefetch.lookahead_streaming": {"0", "no-op"},
		"onefs.sysctl.efs.bam.fnprefetch.prefetch_ll_all":     {"0", "valid"},
		"windows.adapter.checksum":                            {"0", "harmful"},
		"windows.adapter.flow_control":                        {"3", "valid"},
		"windows.adapter.interrupt_moderation":                {"0", "valid"},
		"windows.adapter.jumbo":                               {"9614", "wrong name"},
		"windows.adapter.lso":                                 {"0", "harmful"},
		"windows.adapter.receive_buffers":                     {"4096", "valid"},
		"windows.adapter.rsc":                                 {"enabled", "no-op"},
		"windows.adapter.rss":                                 {"disabled", "harmful"},
		"windows.adapter.rss_profile":                         {"5", "valid"},
		"windows.adapter.rss_queues":                          {"1", "valid"},
		"windows.adapter.transmit_buffers":                    {"4096", "valid"},
		"windows.binding.protocols":                           {"without ms_server ms_tcpip6", "stale"},
		"windows.mpio.policy":                                 {"FOO", "valid"},
		"windows.registry.TcpNoDelay":                         {"1", "no-op"},
		"windows.tcp.autotuning":                              {"restricted", "harmful"},
		"windows.tcp.chimney":                                 {"enabled", "harmful"},
		"windows.tcp.delayed_ack":                             {"1", "stale"},
	}
}

// judged holds what the guide says of a setting in force to what it should; else why it says nothing.
func judged(t *testing.T, os, id string) string {
	t.Helper()
	c, ok := judgements()[id]
	if !ok {
		unread(t, id)
		return "no: it is not read"
	}
	r := guide.InForce(&model.Facts{OS: os, Settings: map[string]model.Fact[string]{id + "@x": model.Known(c[0])}})
	if len(r.Items) != 1 || string(r.Items[0].Status) != c[1] || strings.HasPrefix(r.Items[0].Why, "Not ") {
		t.Errorf("%s = %s: %+v, want %s", id, c[0], r.Items, c[1])
	}
	return "yes"
}

// unread is why no host shows a setting.
func unread(t *testing.T, id string) string {
	t.Helper()
	s, _ := guide.Find(id)
	if s.NotRead == "" {
		t.Errorf("%s is not read, and the guide does not say why", id)
	}
	return "no: " + s.NotRead
}

// recorded are the facts of the imitated host of a system.
func recorded(t *testing.T, name string) *model.Facts {
	t.Helper()
	s, ok := systems.Find(name)
	if !ok {
		return &model.Facts{}
	}
	b, err := os.ReadFile("../../systems/testdata/" + name + "-fake.frames")
	if err != nil {
		t.Fatal(err)
	}
	for frame, lines := range map[string]string{ // of a host whose files have all that a paper writes there
		"illumos system":   "set sata:sata_auto_online=1\nset sd:sd_io_time=0x8\nset nfs:nfs3_max_threads=1024\nset nfs:nfs3_nra=32\nset nfs:nfs3_bsize=1048576\nset nfs:nfs3_max_transfer_size=1048576\nset zfs:l2arc_noprefetch=0\nset zfs:zfs_arc_max=0x400000000\n",
		"illumos ixgbe":    "intr_throttling = 0;\n",
		"macos sysctlconf": "net.inet.tcp.sendspace=1048576\n",
	} {
		if of, frame, _ := strings.Cut(frame, " "); of == name {
			b = reframed(t, b, frame, lines)
		}
	}
	f, err := systems.Read(s, b, name, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// reframed is an answer with another text of one of its frames.
func reframed(t *testing.T, answer []byte, name, text string) []byte {
	t.Helper()
	begin := bytes.Index(answer, []byte("\nbegin "+name+" "))
	if begin < 0 {
		t.Fatalf("no frame %s", name)
	}
	rest := bytes.Index(answer[begin+1:], []byte("\nbegin ")) + begin + 1
	if rest <= begin {
		rest = bytes.Index(answer, []byte("\nlinerate-frames end "))
	}
	return fmt.Appendf(nil, "%s\nbegin %s 0 %d\n%s%s", answer[:begin], name, len(text), text, answer[rest:])
}

// targets are one of each form that a setting may be of.
var targets = []string{"", "signing_required", "if:igb0", "if:ix0", "if:en0", "guid:11111111-2222-3333-4444-00000000000b", "guid:11111111-2222-3333-4444-00000000000b/ms_server", "InternetCustom", "client", "server", "zfs:tank/media", "600144F0C73A8B0000005A1B2C3D0001", "/ifs/data", "groupnet0.subnet0", "groupnet0.subnet0.pool0"}

// changeable is whether a kind changes a setting, and why not.
func changeable(k Kind, setting string) (ok bool, why string) {
	for i, target := range targets {
		_, err := k.Mechanism(setting, target)
		if err == nil {
			return true, ""
		}
		if i == 0 {
			why = err.Error()
		}
	}
	return false, why
}

// held tells whether the undo suites have a setting in their plans.
func held(kind, setting string) bool {
	if kind == "windows" { // TestEachSettingOfWindowsIsUndone has all of them
		return slices.Contains(windowsSettings(), setting)
	}
	return slices.ContainsFunc(slices.Concat(changes(kind), others(kind)), func(c change) bool { return c.setting == setting })
}

func papersTable(t *testing.T) string {
	facts := map[string]*model.Facts{}
	of := map[string][]string{}
	for _, paper := range []string{"dell", "atto", "nappit"} {
		g, ok := guide.FindGuide(paper)
		if !ok {
			t.Fatalf("no guide %s", paper)
		}
		for _, a := range g.Advice {
			if !slices.Contains(of[a.Setting], paper) {
				of[a.Setting] = append(of[a.Setting], paper)
			}
		}
	}
	yes := map[bool]string{true: "yes", false: "no"}
	var out strings.Builder
	for _, k := range All() {
		facts[k.Name()] = recorded(t, k.Name())
		for _, id := range sorted(of) {
			if !strings.HasPrefix(id, k.Name()+".") && (!strings.HasPrefix(id, "any.zfs.") || k.Name() != "illumos") {
				continue
			}
			read := false
			for have := range facts[k.Name()].Settings {
				name, _, _ := strings.Cut(have, "@")
				read = read || name == id
			}
			can, why := changeable(k, id)
			does := yes[can]
			if _, byHand := k.(ByHand); byHand && can {
				does = "a script only"
			} else if !can {
				does = "no: " + strings.ReplaceAll(why, "|", "/")
			}
			reads := "yes"
			if !read {
				reads = unread(t, id)
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", id, strings.Join(of[id], ", "), reads, judged(t, k.Name(), id), does, yes[held(k.Name(), id)])
		}
	}
	return out.String()
}

func sorted(m map[string][]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// The table in docs/systems.md of what linerate does with each setting of DELL's, ATTO's and
// napp-it's papers says what the code does.
func TestTableOfThePapers(t *testing.T) {
	const file = "../../../docs/systems.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), papersHead)
	if !ok {
		t.Fatalf("%s has no table that begins with %q", file, papersHead)
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	want := papersTable(t)
	if golden.Update() {
		if err := os.WriteFile(file, []byte(before+papersHead+want+"\n"+strings.TrimPrefix(after, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table+"\n" != want {
		t.Errorf("%s has another table of the papers (go test ./internal/tune/script -run TestTableOfThePapers -update):\n%s\nwant\n%s", file, table, want)
	}
	if rows := strings.Count(want, "\n"); rows < 30 {
		t.Errorf("%d settings", rows)
	}
}
