package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A recording says what it holds, is read again, and holds the host's name in no form.
func TestSnapshotHidesNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux hosts are recorded")
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "(--hide-names)"}, {[]string{"--hide-names"}, "the files of settings are left out"},
	} {
		dir := filepath.Join(t.TempDir(), "nas1")
		code, out, errs := typed(t, append([]string{"check", "--snapshot", dir}, c.args...)...)
		if code != ExitOK || !strings.Contains(out, c.says) || !strings.Contains(out, "linerate check --from "+dir) {
			t.Fatalf("%q: exit code %d\n%s%s", c.args, code, out, errs)
		}
		b, err := os.ReadFile(filepath.Join(dir, "host.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(b); len(host) > 3 && strings.Contains(text, host+"\n") || c.args != nil && strings.Contains(text, "-- audit/files.json --") {
			t.Errorf("%q: the recording has the host's name, or has the files of settings where it should not", c.args)
		}
		if code, out, errs := typed(t, "check", "--from", dir); code != ExitOK || !strings.Contains(out, "What is wrong with this host") {
			t.Errorf("%q: read again: exit code %d\n%s%s", c.args, code, out, errs)
		}
	}
	archive := filepath.Join(t.TempDir(), "new", "nas1.tar.zst")
	code, out, errs := typed(t, "check", "--snapshot", archive, "--watch", "1ms")
	if code != ExitOK || !strings.Contains(out, archive+": ") || !strings.Contains(out, "linerate check --from "+archive) {
		t.Fatalf("an archive: exit code %d\n%s%s", code, out, errs)
	}
	if info, err := os.Stat(archive); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
		t.Errorf("an archive: %v, %v", err, info)
	}
	if code, out, errs := typed(t, "check", "--from", archive); code != ExitOK || !strings.Contains(out, "\nnas1\nLinux") || !strings.Contains(out, "counters watched for") {
		t.Errorf("an archive, read again: exit code %d\n%s%s", code, out, errs)
	}
	if code, out, errs := typed(t, "guide", "audit", "--from", archive); code != ExitOK {
		t.Errorf("an archive, audited: exit code %d\n%s%s", code, out, errs)
	}
	if code, _, errs := typed(t, "check", "--snapshot", archive); code != ExitUsage || !strings.Contains(errs, "is there already") {
		t.Errorf("an archive that is there: exit code %d, %s", code, errs)
	}
	if code, _, errs := typed(t, "check", "--hide-names"); code != ExitUsage || !strings.Contains(errs, "give --snapshot too") {
		t.Errorf("without --snapshot: exit code %d, %s", code, errs)
	}
}
