//go:build unix

package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/lab/labtest"
)

// The program for hosts goes there instead of the whole one: as it is kept where the host can unpack
// it, and as itself where it cannot, or where what came of it has another hash.
func TestTheProgramForHostsIsSent(t *testing.T) {
	unpacker, err := exec.LookPath("zstd")
	if err != nil {
		t.Skip("no zstd here:", err)
	}
	b := someProgram()
	sum := sha256.Sum256(b)
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := Packed{Zstd: w.EncodeAll(b, nil), Sum: hex.EncodeToString(sum[:])}
	whole := filepath.Join(t.TempDir(), "whole")
	if err := os.WriteFile(whole, []byte("all of linerate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, zstdOfHost := range map[string]string{
		"packed": "exec " + unpacker + ` "$@"`, "it fails at once": "exit 1", "it fails late": unpacker + ` "$@" | head -c 9; exit 1`, "it lies": "cat >/dev/null; echo something",
	} {
		bin := t.TempDir()
		labtest.Program(t, bin+"/zstd", bytes.NewReader([]byte("#!/bin/sh\n"+zstdOfHost+"\n")))
		x, p, _ := sessionHere(t, bin+":"+os.Getenv("PATH"))
		if !p.zstd {
			t.Fatalf("%s: the host's zstd is not known", name)
		}
		sent := &counted{WriteCloser: x.stdin}
		x.stdin = sent
		s := Ssh{Binary: func(string, string) (string, error) { return whole, nil }, Agent: kept}
		if err := s.deploy(t.Context(), Name{Reach: SSH, Host: "server1"}, x, p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(p.dir + "/linerate"); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes are there, %v", name, len(got), err)
		}
		if st, err := os.Stat(p.dir + "/linerate"); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
		if name == "packed" && sent.n > len(kept.Zstd)+100 || name != "packed" && sent.n < len(b) {
			t.Errorf("%s: %d bytes were sent", name, sent.n)
		}
		if err := x.close(); err != nil {
			t.Error(err)
		}
	}
}

// Where no program for hosts is kept, the whole one is sent.
func TestWithoutAProgramForHosts(t *testing.T) {
	b := someProgram()
	path := filepath.Join(t.TempDir(), "whole")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := (Ssh{}).program(path); err != nil || !bytes.Equal(got, b) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := (Ssh{Agent: Packed{Zstd: []byte("no zstd")}}).program(path); err == nil {
		t.Errorf("%d bytes of what cannot be unpacked", len(got))
	}
}
