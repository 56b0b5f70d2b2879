package qemu

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// member is one of an archive as the kernel would read it.
type member struct {
	Name         string
	Mode         uint32
	Links        uint32
	Major, Minor uint32
	Body         string
}

// readCPIO is written from the description of the format, not from the writer.
func readCPIO(b []byte) ([]member, error) {
	var out []member
	inodes := map[uint32]bool{}
	for at := 0; ; {
		if len(b)-at < 110 || string(b[at:at+6]) != "070701" {
			return out, fmt.Errorf("no header at %d", at)
		}
		var f [13]uint32
		for i := range f {
			v, err := strconv.ParseUint(string(b[at+6+8*i:at+14+8*i]), 16, 32)
			if err != nil {
				return out, err
			}
			f[i] = uint32(v)
		}
		size, nameSize := int(f[6]), int(f[11])
		nameAt := at + 110
		bodyAt := (nameAt + nameSize + 3) / 4 * 4
		if bodyAt+size > len(b) || b[nameAt+nameSize-1] != 0 || f[12] != 0 {
			return out, fmt.Errorf("bad header at %d", at)
		}
		m := member{Name: string(b[nameAt : nameAt+nameSize-1]), Mode: f[1], Links: f[4], Major: f[9], Minor: f[10], Body: string(b[bodyAt : bodyAt+size])}
		at = (bodyAt + size + 3) / 4 * 4
		if m.Name == "TRAILER!!!" {
			if at != len(b) {
				return out, fmt.Errorf("%d bytes after the trailer", len(b)-at)
			}
			return out, nil
		}
		if inodes[f[0]] {
			return out, fmt.Errorf("%s: inode %d is another's too: a hard link", m.Name, f[0])
		}
		inodes[f[0]] = true
		out = append(out, m)
	}
}

func TestArchiveIsWhatTheKernelReads(t *testing.T) {
	var b bytes.Buffer
	a := &archive{w: &b}
	a.dir("dev")
	a.charDevice("dev/console", 5, 1)
	a.file("a", 0o644, 0, strings.NewReader(""))
	for i := 1; i <= 5; i++ { // every padding
		body := strings.Repeat("x", i)
		a.file("file"+body, 0o755, int64(i), strings.NewReader(body+"beyond its size"))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := readCPIO(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := []member{
		{"dev", 0o040755, 2, 0, 0, ""},
		{"dev/console", 0o020600, 1, 5, 1, ""},
		{"a", 0o100644, 1, 0, 0, ""},
		{"filex", 0o100755, 1, 0, 0, "x"},
		{"filexx", 0o100755, 1, 0, 0, "xx"},
		{"filexxx", 0o100755, 1, 0, 0, "xxx"},
		{"filexxxx", 0o100755, 1, 0, 0, "xxxx"},
		{"filexxxxx", 0o100755, 1, 0, 0, "xxxxx"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestArchiveKeepsItsFirstError(t *testing.T) {
	a := &archive{w: io.Discard}
	a.file("short", 0o644, 5, strings.NewReader("four"))
	a.dir("later")
	if err := a.Close(); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "short") {
		t.Errorf("a file shorter than said: %v", err)
	}
	a = &archive{w: io.Discard}
	a.file("long", 0o644, maxCPIO+1, strings.NewReader(""))
	if err := a.Close(); err == nil {
		t.Error("a file longer than the header can say was taken")
	}
}
