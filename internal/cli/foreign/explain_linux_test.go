package foreign

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
	"linerate/internal/tune"
)

// heldByWindow is a connection that sends all that its peer's window of 64 KiB allows.
func heldByWindow() *kerneltest.Estats {
	return &kerneltest.Estats{PID: 4, Now: time.Now, Conn: func(after time.Duration) model.Conn {
		n := int64(13_100_000 * after.Seconds())
		return model.Conn{
			Local: netip.MustParseAddrPort("192.0.2.2:49900"), Remote: netip.MustParseAddrPort("192.0.2.9:445"), SndMSS: 1460, Unacked: 44, Cwnd: 900, SndWnd: 65535, RcvWnd: 262144,
			BytesAcked: n, BytesSent: n, DataSegsOut: n / 1460, SegsOut: n / 1460, SegsIn: n / 2920, NotSent: 1 << 20, SendQ: 1<<20 + 65536,
			RTT: 5 * time.Millisecond, MinRTT: 4900 * time.Microsecond, RTTVar: 100 * time.Microsecond, RTO: 300 * time.Millisecond,
			RwndLimited: after * 96 / 100, Busy: after * 98 / 100, SourceLimited: after * 2 / 100,
		}
	}}
}

// family is the processes of that host: 3000 started 4.
func family(pid int) ([]int, error) {
	if pid == 3000 {
		return []int{3000, 4}, nil
	}
	return []int{pid}, nil
}

// leftOn has a linerate that was killed leave on the statistics of the host's connection.
func leftOn(t *testing.T, stats *kerneltest.Estats) {
	t.Helper()
	nobody := 1 << 30 // beyond the largest number of a process
	records := tune.Statistics{Dir: filepath.Join(os.Getenv("XDG_STATE_HOME"), "linerate", "statistics"), PID: nobody, Start: 1, Now: time.Now}
	w := kernel.NewEstatsWatch(stats, records) // which nobody closes
	if _, err := w.Read(kernel.TCPFilter{Ports: []uint16{445}}, nil); err != nil || stats.On() != 7 {
		t.Fatalf("%d groups on, %v", stats.On(), err)
	}
}

// A killed explain leaves statistics on: the next one, or an undo, switches them off and says so.
func TestStatisticsLeftOnAreSwitchedOff(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const off = "switched off the TCP statistics of 1 connection, which process 1073741824, a linerate that did not end by itself, had left on"
	stats, here := heldByWindow(), windowsHere(t, "")
	here.Estats, here.Family = stats, family
	leftOn(t, stats)
	hasAll(t, said(t, here, 0, "explain", "--for", "1s", "--attach", "192.0.2.9:445"), off, "receiver-window", "the statistics of 1 connection are off again")
	if stats.On() != 0 {
		t.Errorf("%d groups stay on", stats.On())
	}
	leftOn(t, stats)
	hasAll(t, said(t, here, 0, "tune", "history"), "process 1073741824, a linerate that did not end by itself, may have left on the TCP statistics of 1 connection: linerate tune undo")
	if stats.On() != 7 {
		t.Errorf("tune history leaves %d groups on, of 7", stats.On())
	}
	stats.Denied = true
	hasAll(t, said(t, here, 4, "tune", "undo"), "access is denied", `opened with "Run as administrator"`, "its record is kept", "they end with their connections")
	stats.Denied = false
	hasAll(t, said(t, here, 0, "tune", "undo", "--json"), off)
	hasAll(t, said(t, here, 0, "tune", "undo"), "nothing to undo")
	hasAll(t, said(t, here, 0, "tune", "history"), "no change of linerate's was made there")
	if stats.On() != 0 {
		t.Errorf("%d groups stay on", stats.On())
	}
}

// What a user of Windows does: start the copy, then ask what holds the connections to the server.
// The verdict names it, and says what Windows does not show; the statistics are off again at the end.
func TestExplainAttachOnWindows(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	for name, args := range map[string][]string{"address": {"--attach", "192.0.2.9:445"}, "process": {"--attach", "4"}, "its parent": {"--attach", "3000"}} {
		t.Run(name, func(t *testing.T) {
			stats, here := heldByWindow(), windowsHere(t, "")
			here.Estats, here.Family = stats, family
			out := said(t, here, 0, append([]string{"explain", "--for", "2s", "--line-rate", "10Gbit"}, args...)...)
			hasAll(t, out, "extended statistics of these connections are switched on meanwhile", "receiver-window", "advertised window of 64 KiB",
				"Windows does not show them", "the statistics of 1 connection are off again")
			if left, err := os.ReadDir(filepath.Join(state, "linerate", "statistics")); stats.On() != 0 || err != nil || len(left) > 0 {
				t.Errorf("%d groups stay on; records %v, %v", stats.On(), left, err)
			}
		})
	}
	stats, here := heldByWindow(), windowsHere(t, "nothing")
	here.Estats, here.Family = stats, family
	_, out, _ := runOn(here, "explain", "--for", "1s", "--attach", "192.0.2.9:445", "--json")
	var v struct{ Verdict model.Verdict }
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Verdict.Limiter != model.ReceiverWindow || v.Verdict.Confidence > 0.5 {
		t.Errorf("where PowerShell does not answer: %v, %s", err, out)
	}
}

func TestExplainAttachOnWindowsSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	stats, here := heldByWindow(), windowsHere(t, "")
	here.Estats, here.Family = stats, family
	hasAll(t, said(t, here, 3, "explain", "--wait", "0", "--for", "1s", "--attach", "192.0.2.9:2049"), "no TCP connection to there")
	hasAll(t, said(t, here, 3, "explain", "--wait", "0", "--for", "1s", "--attach", "812"), "no TCP connection of it", "Windows' own clients of SMB", "--attach nas1:445")
	if stats.On() != 0 {
		t.Error("what was not watched was switched on")
	}
	if _, _, errs := runOn(windowsHere(t, ""), "explain", "--attach", "192.0.2.9:445"); !strings.Contains(errs, "unsupported") {
		t.Errorf("without the calls: %s", errs)
	}
}

func TestExplainAttachOnWindowsTakesAnAdministrator(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	stats, here := heldByWindow(), windowsHere(t, "")
	here.Estats, stats.Denied = stats, true
	hasAll(t, said(t, here, 1, "explain", "--attach", "192.0.2.9:445"), "access is denied", `opened with "Run as administrator"`)
}

// macOS shows what moved, what was sent again, and the round trip: these are shown, and no cause is named.
func TestExplainAttachOnMacOS(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	here := unixHere(t, "darwin", "macos", "uid=501")
	out := said(t, here, 0, "explain", "--for", "2s", "--attach", "10.0.0.9:445")
	hasAll(t, out, "Limiter: undetermined", "0.1% of the bytes", "mean over the life", "20 ms", "macOS does not show them", "send-buffer", "receiver-window", "where the other end runs Linux", "never on a real")
}

func TestExplainAttachOnMacOSSaysWhatItLacks(t *testing.T) {
	t.Parallel()
	here := unixHere(t, "darwin", "macos", "uid=501")
	hasAll(t, said(t, here, 3, "explain", "--wait", "0", "--for", "1s", "--attach", "10.0.0.9:2049"), "no TCP connection to there")
	here = unixHere(t, "darwin", "macos", "uid=501;nettop=1")
	hasAll(t, said(t, here, 3, "explain", "--wait", "0", "--for", "1s", "--attach", "10.0.0.9:445"), "moved no data")
	hasAll(t, said(t, unixHere(t, "freebsd", "freebsd", "uid=501"), 1, "explain", "--attach", "10.0.0.9:445"), "does not work on FreeBSD")
}
