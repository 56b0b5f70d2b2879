package setter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// zfsPropertyPrefix is the prefix of this mechanism's ids, zfsTarget of its targets:
// any.zfs.recordsize of "zfs:tank/media".
const (
	zfsPropertyPrefix = "any.zfs."
	zfsTarget         = "zfs:"
)

// ZFS sets properties of datasets (zfsprops(7)). A value that the dataset does not set itself is
// "inherit:VALUE", or "received:VALUE" for one that came with a stream, and is restored as such:
// a local value would hide later changes of the parent. It owns only the properties in the guide,
// not a mount point or a quota.
type ZFS struct{ Run Runner }

// zfsProperties are the words that each property accepts; nil for a size.
func zfsProperties() map[string][]string {
	compression := []string{"on", "off", "lz4", "lzjb", "zle", "gzip", "zstd", "zstd-fast"}
	for n := range 19 {
		compression = append(compression, "zstd-"+strconv.Itoa(n+1))
		if n < 9 {
			compression = append(compression, "gzip-"+strconv.Itoa(n+1))
		}
		if n < 10 {
			compression = append(compression, "zstd-fast-"+strconv.Itoa(n+1))
		}
	}
	return map[string][]string{
		"sync": {"standard", "always", "disabled"}, "recordsize": nil, "compression": compression,
		"dedup":        {"on", "off", "verify", "sha256", "sha256,verify", "sha512", "sha512,verify", "skein", "skein,verify", "blake3", "blake3,verify"},
		"primarycache": {"all", "none", "metadata"}, "atime": {"on", "off"}, "direct": {"standard", "always", "disabled"},
	}
}

func (ZFS) Owns(setting string) bool {
	_, ok := zfsProperties()[strings.TrimPrefix(setting, zfsPropertyPrefix)]
	return ok && strings.HasPrefix(setting, zfsPropertyPrefix)
}

func (z ZFS) Canonical(at Place, value string) (string, error) {
	property, _, err := z.place(at)
	if err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	origin, word := "", words[0]
	for _, o := range []string{"inherit:", "received:"} {
		if rest, ok := strings.CutPrefix(word, o); ok {
			origin, word = o, rest
		}
	}
	choice := zfsProperties()[property]
	switch {
	case len(words) != 1:
		return "", fmt.Errorf("value %q of %s: want one word: %w", value, at, ErrValue)
	case choice != nil && slices.Contains(choice, word):
		return origin + word, nil
	case choice != nil:
		return "", fmt.Errorf("value %q of %s: want one of %s: %w", value, at, strings.Join(choice, ", "), ErrValue)
	}
	word, err = recordSize(at, word)
	return origin + word, err
}

// recordSize parses 131072, 128K or 1M: a power of two from 512 bytes to 16 MiB (zfs(4),
// zfs_max_recordsize), as zfs get -p prints it.
func recordSize(at Place, word string) (string, error) {
	digits, factor := word, int64(1)
	for suffix, f := range map[string]int64{"K": 1 << 10, "M": 1 << 20} {
		if d, ok := strings.CutSuffix(strings.ToUpper(word), suffix); ok {
			digits, factor = d, f
		}
	}
	n, err := numberIn(at, "size", digits, limits{1, 16 << 20, false})
	if err != nil {
		return "", err
	}
	if n *= factor; n < 512 || n > 16<<20 || n&(n-1) != 0 {
		return "", fmt.Errorf("value %q of %s: want a power of two from 512 to 16M: %w", word, at, ErrValue)
	}
	return strconv.FormatInt(n, 10), nil
}

// place checks id and target. No dataset's name begins like an option.
func (z ZFS) place(at Place) (property, dataset string, err error) {
	dataset, ok := strings.CutPrefix(at.Target, zfsTarget)
	const chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/"
	if !z.Owns(at.Setting) || !ok || dataset == "" || len(dataset) > 255 || strings.ContainsAny(dataset[:1], "-./:") || strings.Trim(dataset, chars) != "" {
		return "", "", fmt.Errorf("ZFS property %s: want any.zfs.%s, of a dataset as zfs:tank/media: %w", at, strings.Join(slices.Sorted(maps.Keys(zfsProperties())), ", "), ErrValue)
	}
	return strings.TrimPrefix(at.Setting, zfsPropertyPrefix), dataset, nil
}

func (z ZFS) Read(ctx context.Context, at Place, _ string) (string, error) {
	property, dataset, err := z.place(at)
	if err != nil {
		return "", err
	}
	out, err := z.Run(ctx, "zfs", "get", "-H", "-p", "-o", "value,source", property, dataset)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	value, source, ok := strings.Cut(strings.TrimRight(string(out), "\n"), "\t")
	if !ok || value == "-" {
		return "", fmt.Errorf("read %s: zfs answers %q: no such property there: %w", at, out, ErrUnsupported)
	}
	switch {
	case source == "received":
		value = "received:" + value
	case source != "local":
		value = "inherit:" + value
	}
	if value, err = z.Canonical(at, value); err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	return value, nil
}

func (z ZFS) Write(ctx context.Context, at Place, value string) error {
	value, err := z.Canonical(at, value)
	if err != nil {
		return err
	}
	property, dataset, err := z.place(at)
	if err != nil {
		return err
	}
	argv := []string{"zfs", "set", property + "=" + value, dataset}
	switch origin, _, _ := strings.Cut(value, ":"); origin {
	case "inherit":
		argv = []string{"zfs", "inherit", property, dataset}
	case "received":
		argv = []string{"zfs", "inherit", "-S", property, dataset}
	}
	if _, err := z.Run(ctx, argv...); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	return nil
}

func (z ZFS) Shell(at Place, _ string) (Shell, error) {
	p, dataset, err := z.place(at)
	if err != nil {
		return Shell{}, err
	}
	d := Quote(dataset)
	return Shell{
		Read: "now=$(zfs get -H -p -o value,source " + p + " " + d + `) && printf '%s\n' "$now" | awk -F '\t' '$2 == "local" { print $1; next } $2 == "received" { print "received:" $1; next } { print "inherit:" $1 }'`,
		Write: `case "$value" in inherit:*) zfs inherit ` + p + " " + d + " ;; received:*) zfs inherit -S " + p + " " + d +
			" ;; *) zfs set " + p + `="$value" ` + d + " ;; esac",
		Programs: []string{"zfs", "awk"},
	}, nil
}
