package foreign

import (
	"strings"
	"testing"
)

// A host on which this build does not run is read by its system's own commands, over a real
// ssh; nothing is left there.
func TestCheckReadsAnIllumosHostOverSSH(t *testing.T) {
	t.Parallel()
	h := foreignHost(t, "sync=disabled")
	code, out, errs := h.run(t, "check", "omnios", "--line-rate", "10Gbit", "--rtt", "1ms")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	text := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"send_buf = 49152: 393 Mbit/s at 1ms for a program", "any.zfs.sync = disabled", "[fixed-socket-buffer]", "[guide-disagrees]",
		"never on a real illumos host", "illumos 5.11 omnios-r151054-0, 1 CPU, ixgbe0 10 Gbit/s MTU 1500",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	leftNothing(t, h.tmp)
}

// A host on which linerate does not run is changed by a script, over a real ssh, and is as it was
// after undo.
func TestTuneChangesAnIllumosHostOverSSH(t *testing.T) {
	t.Parallel()
	h := foreignHost(t, "")
	run := func(want int, args ...string) string { t.Helper(); return h.ran(t, want, args...) }
	has := func(text string, all ...string) { t.Helper(); hasAll(t, text, all...) }
	path := []string{"--profile", "zfs-filer", "--rtt", "1ms", "--line-rate", "10Gbit"}
	plan := run(0, append([]string{"tune", "plan", "omnios"}, path...)...)
	has(plan, "illumos.ipadm.tcp.max_buf", "1048576 → 2500000", "illumos.ipadm.tcp.send_buf", "49152 → 1875000")
	if strings.Contains(plan, "linux.") || strings.Contains(plan, "tcp_rmem") {
		t.Errorf("settings of Linux: %s", plan)
	}
	has(run(0, append([]string{"tune", "script", "omnios"}, path...)...), "#!/bin/sh", "ipadm set-prop -t -p send_buf=", "originals stand here")
	has(run(0, append([]string{"tune", "apply", "omnios"}, path...)...), "applied: yes", "tune undo omnios")
	has(run(0, "check", "omnios"), "never on a real illumos host")
	has(run(0, "tune", "history", "omnios"), "illumos.ipadm.tcp.send_buf: 1875000 (original 49152, wanted 1875000): changed by this plan")
	has(run(0, append([]string{"tune", "plan", "omnios"}, path...)...), "No change")
	has(run(0, "tune", "undo", "omnios"), "illumos.ipadm.tcp.send_buf: 1875000 -> 49152 again")
	has(run(0, "tune", "undo", "omnios"), "nothing of plan")
	has(run(0, append([]string{"tune", "plan", "omnios"}, path...)...), "49152 → 1875000")
	has(run(0, "tune", "apply", "omnios", "--set", "any.zfs.atime@tank/media=off", "--confirm-within", "2m"), "undone by itself in 2 minutes", "tune confirm omnios")
	has(run(0, "tune", "confirm", "omnios"), "1 of its changes are in force")
	has(run(0, "tune", "undo", "omnios"), "any.zfs.atime@zfs:tank/media: off -> inherit:on again")
	leftNothing(t, h.tmp)
}
