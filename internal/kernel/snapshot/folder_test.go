package snapshot

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var twoFiles = []File{{FileName, []byte("-- proc/stat --\ncpu 1\n")}, {SecondName, []byte("-- proc/stat --\ncpu 2\n")}}

func TestAnArchiveIsReadAsTheFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "nas1"+ArchiveExt)
	n, err := WriteArchive(file, twoFiles)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Size() != int64(n) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v, %d bytes", err, info, n)
	}
	d, err := OpenFolder(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range twoFiles {
		h, err := d.Host(f.Name)
		if err != nil || "-- proc/stat --\n"+h.Files["proc/stat"] != string(f.Data) {
			t.Errorf("%s: %v, %v", f.Name, err, h)
		}
	}
	if _, err := d.Read("other", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that it has not: %v", err)
	}
	if _, err := d.Read(FileName, 3); !errors.Is(err, ErrDamaged) {
		t.Errorf("more than was asked for: %v", err)
	}
	if _, err := WriteArchive(file, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written over: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFolderMayBeNamedLikeAnArchive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "old"+ArchiveExt)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, FileName), twoFiles[0].Data, 0o600)); err != nil {
		t.Fatal(err)
	}
	d, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := d.Names()
	if h, e := d.Host(FileName); err != nil || len(names) != 1 || e != nil || len(h.Files) != 1 {
		t.Errorf("%v, %v, %v", err, names, e)
	}
}

// packed is an archive as a stranger may make it.
func packed(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, h := range headers {
		err = errors.Join(err, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, e := w.Write(make([]byte, h.Size))
			err = errors.Join(err, e)
		}
	}
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func plain(names ...string) []tar.Header {
	var all []tar.Header
	for _, n := range names {
		all = append(all, tar.Header{Typeflag: tar.TypeReg, Name: n})
	}
	return all
}

// sparse is an archive with a file of a terabyte, of which no byte is stored (pax, GNU.sparse 1.0).
func sparse(t testing.TB) []byte {
	t.Helper()
	block := func(text string) []byte { return append([]byte(text), make([]byte, 512-len(text))...) }
	header := func(kind byte, size int) []byte {
		h := block(FileName)
		copy(h[100:], "0000600\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x0000000000000\x00        %c", size, kind))
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, b := range h {
			sum += int(b)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		return h
	}
	records := "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n37 GNU.sparse.realsize=1099511627776\n"
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(slices.Concat(header('x', len(records)), block(records), header('0', 512), block("0\n"), make([]byte, 1024)), nil)
}

func TestArchivesOfStrangers(t *testing.T) {
	good := packed(t, plain(FileName)...)
	many := make([]string, 0, maxEntries+1)
	for i := range maxEntries + 1 {
		many = append(many, strings.Repeat("a", i+1))
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"leads out":     {packed(t, plain("../host.txtar")...), "no name of a file"},
		"absolute":      {packed(t, plain("/etc/passwd")...), "no name of a file"},
		"in a folder":   {packed(t, plain("a/host.txtar")...), "no name of a file"},
		"a drive":       {packed(t, plain(`C:\host.txtar`)...), "no name of a file"},
		"hidden":        {packed(t, plain("..")...), "no name of a file"},
		"twice":         {packed(t, plain(FileName, FileName)...), "no name of a file"},
		"too many":      {packed(t, plain(many...)...), "more than 16 files"},
		"a link":        {packed(t, tar.Header{Typeflag: tar.TypeSymlink, Name: FileName, Linkname: "/etc/passwd"}), "no plain file"},
		"a second name": {packed(t, tar.Header{Typeflag: tar.TypeLink, Name: FileName, Linkname: "/etc/passwd"}), "no plain file"},
		"a folder":      {packed(t, tar.Header{Typeflag: tar.TypeDir, Name: "a/"}), "no plain file"},
		"a FIFO":        {packed(t, tar.Header{Typeflag: tar.TypeFifo, Name: FileName}), "no plain file"},
		"a bomb":        {packed(t, tar.Header{Typeflag: tar.TypeReg, Name: FileName, Size: maxTar + 1}), "more than 129 MiB"},
		"a sparse bomb": {sparse(t), "more than 129 MiB"},
		"cut":           {good[:len(good)-5], "EOF"},
		"no archive":    {[]byte("hello"), "magic"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a"+ArchiveExt)
			if err := os.WriteFile(file, c.b, 0o600); err != nil {
				t.Fatal(err)
			}
			if d, err := OpenFolder(file); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v", d, err)
			}
		})
	}
}

// Whatever an archive holds, it is read within its bounds, and no name leads out of a folder.
func FuzzArchiveOfAFolder(f *testing.F) {
	f.Add(packed(f, plain(FileName, "b.frames")...))
	f.Add(packed(f, tar.Header{Typeflag: tar.TypeSymlink, Name: FileName, Linkname: "x"}))
	f.Add(sparse(f))
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := parseArchive(b)
		if err != nil {
			return
		}
		sum := 0
		for _, file := range files {
			sum += len(file.Data)
			if !filepath.IsLocal(file.Name) || filepath.Base(file.Name) != file.Name {
				t.Errorf("name %q", file.Name)
			}
		}
		if len(files) > maxEntries || sum > maxTar {
			t.Errorf("%d files, %d bytes", len(files), sum)
		}
	})
}
