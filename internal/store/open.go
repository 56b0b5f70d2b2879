package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// Bundle is one bundle, opened and verified.
type Bundle struct {
	Dir      string
	Manifest Manifest
	Results  *model.Results
	Facts    map[string]*model.Facts // by host as the user named it
}

// Samples by run label and host.
type Samples map[string]map[string][]model.Sample

// ID is the bundle's id: the name of its folder.
func (b *Bundle) ID() string { return filepath.Base(b.Dir) }

// Open reads the bundle in dir and checks every file against the manifest; the error names the
// first one that is missing, of the wrong size or corrupt and wraps ErrDamaged, or ErrNewer if
// this build is too old. Results.Report is set to the report's present path.
func Open(dir string) (*Bundle, error) {
	b, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	return b, nil
}

func open(dir string) (*Bundle, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Dir: dir, Manifest: *m, Facts: map[string]*model.Facts{}}
	for _, f := range m.Files {
		if err := b.load(root, f); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func readManifest(root *os.Root) (*Manifest, error) {
	raw, err := readRegular(root, manifestName, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: is this the folder of a run?", ErrDamaged, err)
	}
	return decodeManifest(raw)
}

// load verifies one file and decodes it if Open needs its content.
func (b *Bundle) load(root *os.Root, f File) error {
	if !strings.HasSuffix(f.Name, ".json") {
		return verify(root, f)
	}
	raw, err := readVerified(root, f)
	if err != nil {
		return err
	}
	if f.Name == resultsName {
		b.Results, err = decode[model.Results](resultsName, raw, model.OutcomeVersion)
		if err == nil && b.has(reportName) {
			b.Results.Report = filepath.Join(b.Dir, reportName)
		}
		return err
	}
	facts, err := decode[model.Facts](f.Name, raw, model.FactsVersion)
	if err == nil {
		b.Facts[f.Host] = facts
	}
	return err
}

func (b *Bundle) has(name string) bool {
	for _, f := range b.Manifest.Files {
		if f.Name == name {
			return true
		}
	}
	return false
}

// Samples decodes all samples of the bundle.
func (b *Bundle) Samples() (Samples, error) {
	root, err := os.OpenRoot(b.Dir)
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	defer root.Close()
	out, left := Samples{}, &budget{decoded: maxDecoded, memory: maxMemory}
	for _, f := range b.Manifest.Files {
		if !strings.HasPrefix(f.Name, samplesDir) {
			continue
		}
		if err := out.read(root, f, left); err != nil {
			return nil, fmt.Errorf("read samples: %s: %w", filepath.Join(b.Dir, f.Name), err)
		}
	}
	return out, nil
}

func (s Samples) read(root *os.Root, f File, left *budget) error {
	raw, err := readVerified(root, f)
	if err != nil {
		return err
	}
	return decodeSamples(bytes.NewReader(raw), left, func(run string, sample model.Sample) {
		if s[run] == nil {
			s[run] = map[string][]model.Sample{}
		}
		s[run][f.Host] = append(s[run][f.Host], sample)
	})
}

// decode decodes a file of a version up to known.
func decode[T any](name string, raw []byte, known int) (*T, error) {
	if err := headVersion(name, raw, known); err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", name, ErrDamaged, err)
	}
	return v, nil
}

// headVersion reads "v" first, since a later version may have changed the type of any other
// field.
func headVersion(name string, raw []byte, known int) error {
	var head struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("decode %s: %w: %w", name, ErrDamaged, err)
	}
	return knownVersion(name, head.V, known)
}

// readVerified returns a file's content if it matches the manifest.
func readVerified(root *os.Root, f File) ([]byte, error) {
	raw, err := readRegular(root, f.Name, f.Size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sum := sha256.Sum256(raw)
	return raw, compare(f, int64(len(raw)), sum[:])
}

// verify hashes a file without keeping it in memory.
func verify(root *os.Root, f File) error {
	in, err := openRegular(root, f.Name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(in, f.Size+1))
	if err := errors.Join(err, in.Close()); err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	return compare(f, n, sum.Sum(nil))
}

func compare(f File, size int64, sum []byte) error {
	if size != f.Size {
		return fmt.Errorf("%w: %s is not the %d bytes the manifest says", ErrDamaged, f.Name, f.Size)
	}
	if hex.EncodeToString(sum) != f.SHA256 {
		return fmt.Errorf("%w: %s is corrupt: its SHA-256 is not the manifest's", ErrDamaged, f.Name)
	}
	return nil
}

// readRegular reads at most one byte more than limit.
func readRegular(root *os.Root, name string, limit int64) ([]byte, error) {
	in, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err := errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes", name, limit)
	}
	return raw, nil
}

// openRegular opens a regular file of the bundle: no link leads out of it, and no pipe or device
// blocks the reader.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: not a plain file", name)
	}
	return root.OpenFile(name, os.O_RDONLY|kernel.Unblocked, 0) // a pipe may have taken its place
}
