package facts

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// word reads a file of one word or line, and trims it.
func word(src kernel.Files, path string) model.Fact[string] {
	b, err := src.ReadFile(path)
	if err != nil {
		return lost[string](err)
	}
	return model.Known(strings.TrimSpace(string(b)))
}

// integer reads a file that holds one decimal number.
func integer(src kernel.Files, path string) model.Fact[int64] {
	return number(word(src, path), path)
}

func number(w model.Fact[string], path string) model.Fact[int64] {
	text, ok := w.Get()
	if !ok {
		return model.Unknown[int64](w.State, w.Why)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return model.Unknown[int64](model.Unsupported, path+" holds no number")
	}
	return model.Known(n)
}

// mapped converts the value of a fact, and keeps the reason if there is none.
func mapped[A, B any](f model.Fact[A], to func(A) B) model.Fact[B] {
	v, ok := f.Get()
	if !ok {
		return model.Unknown[B](f.State, f.Why)
	}
	return model.Known(to(v))
}

func flagged(src kernel.Files, path string) model.Fact[bool] {
	return mapped(integer(src, path), func(n int64) bool { return n != 0 })
}

func small(src kernel.Files, path string) model.Fact[int] {
	return mapped(integer(src, path), func(n int64) int { return int(max(min(n, 1<<31-1), -1<<31)) })
}

// kib reads a file in KiB.
func kib(src kernel.Files, path string) model.Fact[unit.Bytes] {
	return mapped(integer(src, path), func(n int64) unit.Bytes { return unit.Bytes(max(0, min(n, 1<<40))) * 1024 })
}

// listed are the names in a directory that may be missing: most hosts have no ZFS, no bond and no
// iSCSI.
func listed(src kernel.Files, dir string) ([]string, error) {
	names, err := src.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// numberedNames are those names that are prefix and a number.
func numberedNames(names []string, prefix string) []string {
	var out []string
	for _, n := range names {
		if digits, ok := strings.CutPrefix(n, prefix); ok {
			if _, err := strconv.ParseUint(digits, 10, 31); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}
