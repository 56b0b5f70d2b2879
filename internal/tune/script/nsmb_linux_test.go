package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nsmbBox is a Mac with a plan for one option of its SMB client, which is not signed with then.
func nsmbBox(t *testing.T, from, file string) *box {
	t.Helper()
	list := []change{{"macos.file.nsmb_conf", "signing_required", from, "no"}}
	b := newBoxOf(t, fakehost(t), "macos", []string{"sh"}, false, list, func(Step) bool { return true })
	b.write("etc/nsmb.conf", file)
	return b
}

func (b *box) nsmb() string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, "etc/nsmb.conf"))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// What somebody writes behind linerate's lines is in their section, and stays there when they go.
func TestALineBehindTheBlockKeepsItsSection(t *testing.T) {
	t.Parallel()
	b := nsmbBox(t, "unset", "[nas1]\nport445=no_netbios\n")
	if out, code := b.run(nil, "apply"); code != 0 {
		t.Fatal(out)
	}
	b.write("etc/nsmb.conf", b.nsmb()+"\n# mine\nstreams=no\n")
	if out, code := b.run(nil, "undo"); code != 0 {
		t.Fatal(out)
	}
	if got := b.nsmb(); got != "[nas1]\nport445=no_netbios\n\n# mine\n[default]\nstreams=no\n" {
		t.Errorf("%q", got)
	}
	again := nsmbBox(t, "unset", "[nas1]\nport445=no_netbios\n")
	again.run(nil, "apply")
	again.write("etc/nsmb.conf", again.nsmb()+"[nas2]\nstreams=no\n")
	again.run(nil, "undo")
	if got := again.nsmb(); got != "[nas1]\nport445=no_netbios\n[nas2]\nstreams=no\n" {
		t.Errorf("%q", got)
	}
}

// What follows a value is part of it to the client of a Mac, but for the end of a line of Windows.
func TestAValueOfNsmbIsReadAsItsClientReadsIt(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"[default]\nsigning_required = yes\n":        "yes",
		"[default]\r\nsigning_required=yes\r\n":      "yes",
		"[global]\n\tsigning_required=yes\n":         "yes",
		"[ default ]\nsigning_required=yes\n":        "unset",
		"[default]\n;signing_required=yes\n":         "unset",
		"[default]\n  # signing_required=yes\n[b]\n": "unset",
	} {
		b := nsmbBox(t, want, file)
		out, code := b.run(nil, "apply")
		if code != 0 || !strings.Contains(b.nsmb(), "# linerate: begin\n[default]\nsigning_required=no\n") {
			t.Errorf("%q: not read as %s: %s", file, want, out)
		}
		if out, code := b.run(nil, "undo"); code != 0 || b.nsmb() != file {
			t.Errorf("%q: undone to %q: %s", file, b.nsmb(), out)
		}
	}
	for _, file := range []string{"[default]\nsigning_required=no # why\n", "[default]\nsigning_required=\"no\"\n", "[default]\nsigning_required=no \n"} {
		b := nsmbBox(t, "yes", file)
		if out, code := b.run(nil, "apply"); code != 1 || b.nsmb() != file || strings.Contains(out, "is no already") {
			t.Errorf("%q: taken for no: %d %s", file, code, out)
		}
	}
}
