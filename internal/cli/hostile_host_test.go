package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
)

// hostileRole in the environment makes the test binary an agent that does evil: "texts"
// passes on a real agent's answers with the planted text behind every text, "errors"
// answers every call but the first by an error with it. Both say it on stderr too.
const hostileRole = "LINERATE_TEST_HOSTILE"

// hostileAgent stands between a controller and the agent that argv starts.
func hostileAgent(how string, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), hostileRole+"=")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answered := make(chan error, 1)
	go func() { answered <- poison(out, os.Stdout) }()
	asked := bufio.NewReader(os.Stdin)
	for n := 0; ; n++ {
		line, err := asked.ReadBytes('\n')
		if err != nil {
			break
		}
		fmt.Fprintf(os.Stderr, "agent says %s\u2028%d\n", planted, n)
		if how != "errors" || n == 0 {
			if _, err := in.Write(line); err != nil {
				return err
			}
			continue
		}
		var call struct{ ID json.RawMessage }
		if err := json.Unmarshal(line, &call); err != nil {
			return err
		}
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": map[string]any{"code": -32000, "message": "no" + planted + "more", "data": planted}})
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", b)
	}
	if err := in.Close(); err != nil {
		return err
	}
	if err := <-answered; err != nil {
		return err
	}
	return cmd.Wait()
}

// poison passes on answers, but for the first, with the planted text in them.
func poison(from io.Reader, to io.Writer) error {
	r := bufio.NewReader(from)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil // the agent has ended
		}
		if n > 0 && os.Getenv(hostileRole) == "texts" {
			var m map[string]json.RawMessage
			var result any
			d := json.NewDecoder(bytes.NewReader(line))
			if err := d.Decode(&m); err != nil {
				return err
			}
			d = json.NewDecoder(bytes.NewReader(m["result"]))
			d.UseNumber()
			if m["result"] != nil && d.Decode(&result) == nil {
				b, err := json.Marshal(plant(result, wordOfProtocol, ""))
				if err != nil {
					return err
				}
				m["result"] = b
				if line, err = json.Marshal(m); err != nil {
					return err
				}
				line = append(line, '\n')
			}
		}
		if _, err := to.Write(line); err != nil {
			return err
		}
	}
}

// wordOfProtocol tells texts of an answer for which there are only so many words.
func wordOfProtocol(key, text string) bool { return key == "state" }

// A host that puts something in all its answers, its errors and its stderr is printed by
// every command that asks it as text alone.
func TestHostileHostIsTextAlone(t *testing.T) {
	labtest.Long(t)
	if runtime.GOOS != "linux" {
		t.Skip("the host is this machine, read by its own agent")
	}
	dir := t.TempDir()
	t.Setenv("XDG_DATA_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", dir)
	for how, commands := range map[string][][]string{
		"texts":  {{"check", "evil"}, {"check", "evil", "--json"}, {"check", "evil", "--format", "markdown"}, {"check", "evil", "--format", "html"}, {"check", "evil", "evil2"}, {"tune", "evil"}, {"tune", "evil", "--json"}, {"tune", "history", "evil"}, {"tune", "apply", "evil", "--profile", "nfs-server", "--dry-run"}, {"guide", "audit", "evil"}},
		"errors": {{"check", "evil"}, {"tune", "evil"}, {"tune", "history", "evil"}, {"tune", "undo", "evil"}, {"tune", "confirm", "evil"}, {"leave", "evil"}, {"explain", "evil", "evil2", "--load"}, {"fix", "evil", "evil2", "--yes"}, {"load", "file", "--on", "evil", "/tmp/x"}},
	} {
		labtest.Program(t, filepath.Join(dir, "ssh"), strings.NewReader(`#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift 2
exec sh -c "$(printf %s "$*" | sed 's|"$d/linerate" "$@"|env `+hostileRole+`=`+how+` &|g')"
`))
		for _, args := range commands {
			code, out, errs := typed(t, args...)
			t.Logf("%s: %q: exit code %d\n%s\n%s", how, args, code, out, errs)
			looked(t, fmt.Sprintf("%s: %q", how, args), errs)
			// Lines of a document are broken where they end: any word may be the first.
			looked(t, fmt.Sprintf("%s: %q", how, args), strings.ReplaceAll(out, "FORGED", "said"))
			if !strings.Contains(out+errs, "FORGED") {
				t.Errorf("%s: %q shows none of what is planted", how, args)
			}
		}
	}
}
