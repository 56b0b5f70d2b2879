package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// output runs a program and returns what it printed.
func output(dir string, env []string, argv ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}

// pseudo is how the Go tool names a commit that has no tag: the tag before it, the time and the
// beginning of the commit's id.
var pseudo = regexp.MustCompile(`^(\d+\.\d+\.\d+)-(?:0\.)?(\d{14})-([0-9a-f]{7})[0-9a-f]*$`)

// versionOf is the version that the Go tool recorded in a binary, from the tag of its commit, as
// packages order it: what has no tag comes before the release that it leads to.
func (r *release) versionOf(binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", fmt.Errorf("read what was built: %w", err)
	}
	version, ok := strings.CutPrefix(info.Main.Version, "v")
	if !ok {
		return "", fmt.Errorf("the binary's version is %q: build in a clone of its repository (no worktree)", info.Main.Version)
	}
	if strings.Contains(version, "+dirty") {
		return "", errors.New("the tree has changes that are not committed: nobody could build this again")
	}
	if m := pseudo.FindStringSubmatch(version); m != nil {
		return m[1] + "~" + m[2] + "." + m[3], nil
	}
	return strings.Replace(version, "-", "~", 1), nil
}

// add notes a file that was made.
func (r *release) add(name string) { r.made = append(r.made, name) }

// container writes the recipe of an image that holds what the archive for Linux does, and nothing else.
func (r *release) container() error {
	base := archiveName(r.version, target{"linux", "amd64"})
	text := "# Build beside the archive of this release: buildah bud -t linerate -f Containerfile .\n" +
		"# It sees the host that it is to look at with: --net host --pid host --privileged\n" +
		"FROM scratch\nADD " + base + ".tar.gz /\nENTRYPOINT [\"/" + base + "/linerate\"]\n"
	r.add("Containerfile")
	return os.WriteFile(filepath.Join(r.out, "Containerfile"), []byte(text), 0o644)
}

// sums writes SHA256SUMS, as sha256sum --check reads it.
func (r *release) sums() error {
	slices.Sort(r.made)
	var text strings.Builder
	for _, name := range r.made {
		f, err := os.Open(filepath.Join(r.out, name))
		if err != nil {
			return fmt.Errorf("sum: %w", err)
		}
		hash := sha256.New()
		size, err := io.Copy(hash, f)
		f.Close()
		if err != nil {
			return fmt.Errorf("sum %s: %w", name, err)
		}
		fmt.Fprintf(&text, "%x  %s\n", hash.Sum(nil), name)
		fmt.Printf("%10d  %s\n", size, name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(text.String()), 0o644)
}
