package store

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"linerate/internal/model"
)

// Writer writes one bundle. It is for one goroutine. Before Commit the bundle is invisible;
// Abort, which may follow Commit, removes what was not committed.
type Writer struct {
	runs     string // the folder of bundles
	temp     string // where it is being written
	id       string
	manifest Manifest
	warnings []model.Warning
	done     bool
}

// Create starts a bundle below the data directory root, which it creates (mode 0700) if it is
// missing. It first removes the hidden folders of this machine's runs whose process is gone; see
// Warnings. now determines the id and the manifest's created.
func Create(root, command string, now time.Time) (*Writer, error) {
	me, err := self()
	if err != nil {
		return nil, err
	}
	runs := filepath.Join(root, runsDir)
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return nil, fmt.Errorf("create bundle: %w: set XDG_DATA_HOME to a directory you may write", err)
	}
	w := &Writer{runs: runs, manifest: Manifest{V: 1, Command: command, Created: now.UTC()}}
	w.warnings = sweep(runs, me, alive)
	if err := w.reserve(me, now, randomToken); err != nil {
		return nil, err
	}
	return w, nil
}

// reserve chooses an id that no bundle has, finished or not, and creates the hidden folder.
func (w *Writer) reserve(me owner, now time.Time, token func() (string, error)) error {
	for range 100 {
		t, err := token()
		if err != nil {
			return err
		}
		w.id = newID(now, w.manifest.Command, t)
		w.temp = filepath.Join(w.runs, me.tempName(w.id))
		if _, err := os.Lstat(w.Path()); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err = os.Mkdir(w.temp, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("create bundle: %w: set XDG_DATA_HOME to a directory you may write", err)
		}
		return nil
	}
	return fmt.Errorf("create bundle: every id tried for %s is taken in %s: try again", now.UTC().Format(time.RFC3339), w.runs)
}

// ID is the bundle's future id.
func (w *Writer) ID() string { return w.id }

// Path is the folder that Commit will create.
func (w *Writer) Path() string { return filepath.Join(w.runs, w.id) }

// ReportPath is where the report will be, for model.Results.Report.
func (w *Writer) ReportPath() string { return filepath.Join(w.Path(), reportName) }

// Warnings are problems at creation, such as an unfinished bundle of a killed run that could not
// be removed.
func (w *Writer) Warnings() []model.Warning { return w.warnings }

// Facts writes facts/<host>.json. Each host is written once.
func (w *Writer) Facts(f *model.Facts) error {
	return w.json("facts/"+hostName(f.Host)+".json", f.Host, f)
}

// Results writes results.json and takes the manifest's build from it.
func (w *Writer) Results(r *model.Results) error {
	w.manifest.Build = r.Build
	return w.json(resultsName, "", r)
}

// Losses writes what a copy could not keep: fill gets the open file, for lines of JSON as zstd.
func (w *Writer) Losses(fill func(io.Writer) error) error {
	w.manifest.V = 2
	return w.file(LossesName, "", fill)
}

// Report writes report.html: render gets the open file.
func (w *Writer) Report(render func(io.Writer) error) error {
	return w.file(reportName, "", render)
}

func (w *Writer) json(name, host string, v any) error {
	return w.file(name, host, func(out io.Writer) error {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(v)
	})
}

// file writes, hashes and syncs one file of the bundle. It refuses a file larger than Open would
// read, which would be lost unnoticed.
func (w *Writer) file(name, host string, fill func(io.Writer) error) error {
	if w.done {
		return fmt.Errorf("write %s: the bundle is closed", name)
	}
	path := filepath.Join(w.temp, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	sum := sha256.New()
	count := &counter{limit: sizeLimit(name)}
	out := bufio.NewWriterSize(io.MultiWriter(count, f, sum), 64<<10) // reports come line by line
	if err = fill(out); err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	w.manifest.Files = append(w.manifest.Files, File{
		Name: name, Host: host, SHA256: hex.EncodeToString(sum.Sum(nil)), Size: count.n,
	})
	return nil
}

// Commit writes the manifest, syncs everything and renames the folder into place. It returns the
// path of the bundle, which is Path unless another run took that id in the meantime. After an
// error the bundle is invisible and Abort still has to be called.
func (w *Writer) Commit() (string, error) {
	if w.done {
		return "", errors.New("commit bundle: it is closed")
	}
	slices.SortFunc(w.manifest.Files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	if err := w.manifest.check(); err != nil {
		return "", fmt.Errorf("commit bundle: the manifest %w", err)
	}
	if err := w.seal(); err != nil {
		return "", err
	}
	if err := w.place(randomToken); err != nil {
		return "", err
	}
	w.done = true
	return w.Path(), syncDir(w.runs)
}

// seal writes the manifest and syncs the whole hidden folder.
func (w *Writer) seal() error {
	files := w.manifest.Files
	if err := w.json(manifestName, "", &w.manifest); err != nil {
		return err
	}
	w.manifest.Files = files // the manifest does not list itself
	for _, sub := range []string{"facts", "samples", "."} {
		err := syncDir(filepath.Join(w.temp, sub))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// place renames the folder. The kernel refuses a rename onto another bundle, so a lost race costs
// a new id and never another bundle.
func (w *Writer) place(token func() (string, error)) error {
	for range 100 {
		err := os.Rename(w.temp, w.Path())
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("commit bundle: %w", err)
		}
		t, err := token()
		if err != nil {
			return err
		}
		w.id = newID(w.manifest.Created, w.manifest.Command, t)
	}
	return fmt.Errorf("commit bundle: every id tried is taken in %s: try again", w.runs)
}

// Abort removes what was written. After Commit it does nothing, so it can be deferred.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	if err := os.RemoveAll(w.temp); err != nil {
		return fmt.Errorf("remove unfinished bundle: %w", err)
	}
	return nil
}

// counter counts bytes and fails beyond its limit.
type counter struct{ n, limit int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if c.n > c.limit {
		return 0, fmt.Errorf("it would be larger than %d bytes, the most a bundle holds", c.limit)
	}
	return len(p), nil
}
