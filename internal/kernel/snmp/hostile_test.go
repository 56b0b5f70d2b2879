package snmp

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A login that is nested deeply, full of aliases or of tags costs nothing and gives nothing.
func TestHostileLogins(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 8) + "*" + string(c-1) + "]\n"
	}
	for name, text := range map[string]string{
		"deep":   strings.Repeat("{community: ", 5000),
		"lists":  strings.Repeat("[", 60000),
		"bomb":   bomb,
		"alias":  "user: &u hush\nauth: sha\nauth_secret: *u",
		"tag":    "community: !!binary",
		"no tag": "community: !",
		"merge":  "<<: {community: hush}",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		l, err := ParseLogin([]byte(text))
		runtime.ReadMemStats(&after)
		if err == nil || l != (Login{}) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s took %d MiB", name, took>>20)
		}
	}
	if _, err := ReadLogin(t.TempDir()); err == nil {
		t.Error("a directory is a login")
	}
	huge := filepath.Join(t.TempDir(), "huge")
	if err := os.WriteFile(huge, []byte("community: "+strings.Repeat("x", maxLogin)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLogin(huge); err == nil || !strings.Contains(err.Error(), "64 KiB") {
		t.Errorf("a huge login: %v", err)
	}
}
