package qemu

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/kernel"
)

// File names in the initramfs.
const (
	initName     = "init"
	hostnameFile = "etc/hostname"
	modulesDir   = "modules"
	orderFile    = "modules/order" // one line for each module: file and parameters
)

// writeInitramfs writes the initramfs under a temporary name and renames it. A machine that
// runs already has read its own.
func (s Spec) writeInitramfs(ctx context.Context) error {
	loads, err := s.Kernel.loads()
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(s.Work, initramfsFile+".*")
	if err != nil {
		return err
	}
	// After the rename this removes nothing.
	defer os.Remove(tmp.Name())
	err = s.pack(ctx, tmp, loads)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), filepath.Join(s.Work, initramfsFile))
}

// loads lists the modules to load, in order.
func (k Kernel) loads() ([]load, error) {
	b, err := os.ReadFile(filepath.Join(k.Modules, depFile))
	if err != nil {
		return nil, err
	}
	dep, err := parseDep(b)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", depFile, err)
	}
	b, err = os.ReadFile(filepath.Join(k.Modules, builtinFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return resolve(dep, parseBuiltin(b), wants())
}

// pack writes the archive uncompressed: the emulated processor would need longer to decompress
// it than to read it.
func (s Spec) pack(ctx context.Context, w io.Writer, loads []load) error {
	buf := bufio.NewWriterSize(w, 1<<20)
	a := &archive{w: buf}
	for _, dir := range []string{"dev", "etc", "proc", "sys", modulesDir} {
		a.dir(dir)
	}
	// The kernel opens it for init before anything is mounted.
	a.charDevice("dev/console", 5, 1)
	name := s.Name + "\n"
	a.file(hostnameFile, 0o644, int64(len(name)), strings.NewReader(name))
	var order strings.Builder
	for _, l := range loads {
		b, err := readModule(ctx, filepath.Join(s.Kernel.Modules, l.file))
		if err != nil {
			return err
		}
		ko := moduleName(l.file) + ".ko"
		a.file(modulesDir+"/"+ko, 0o644, int64(len(b)), bytes.NewReader(b))
		fmt.Fprintln(&order, strings.TrimSpace(ko+" "+l.params))
	}
	a.file(orderFile, 0o644, int64(order.Len()), strings.NewReader(order.String()))
	if err := packInit(a, s.Init); err != nil {
		return err
	}
	return errors.Join(a.Close(), buf.Flush())
}

// readModule returns a module uncompressed, as the kernel loads it. Distributions use three
// compressions.
func readModule(ctx context.Context, path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch filepath.Ext(path) {
	case ".gz":
		var zip *gzip.Reader
		if zip, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(zip)
		}
	case ".zst":
		var zip *zstd.Decoder
		if zip, err = zstd.NewReader(nil); err == nil {
			defer zip.Close()
			b, err = zip.DecodeAll(b, nil)
		}
	case ".xz":
		b, err = unxz(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", path, err)
	}
	return b, nil
}

func unxz(ctx context.Context, path string) ([]byte, error) {
	xz, ok := program("xz", "/")
	if !ok {
		return nil, missing("xz", "xz-utils")
	}
	return kernel.Exec(ctx, xz, "--decompress", "--stdout", "--", path).Output()
}
