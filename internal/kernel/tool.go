package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Tool is a question that only an administrator's program answers. Each is one fixed argv that
// reads and changes nothing.
type Tool string

// The questions.
const (
	// ZFSProperties lists the properties of file systems and volumes that affect throughput, as
	// "name<TAB>property<TAB>value<TAB>source" with plain numbers (zfs-get(8), -H -p).
	ZFSProperties Tool = "zfs-get"
	// PoolProperties lists those of pools likewise (zpool-get(8)).
	PoolProperties Tool = "zpool-get"
	// PoolDevices lists the devices of each pool, indented below it (zpool-list(8), -v -H -p).
	PoolDevices Tool = "zpool-list"
)

// argv is the program and its arguments; nil for an unknown tool.
func (t Tool) argv() []string {
	switch t {
	case ZFSProperties:
		return []string{"zfs", "get", "-H", "-p", "-t", "filesystem,volume", "type,sync,recordsize,volblocksize,dedup,compression,logbias,primarycache,sharenfs,sharesmb"}
	case PoolProperties:
		return []string{"zpool", "get", "-H", "-p", "health,capacity,fragmentation,ashift,dedupratio"}
	case PoolDevices:
		return []string{"zpool", "list", "-v", "-H", "-p", "-o", "name"}
	}
	return nil
}

// toolWithin bounds the time for one answer, so that a hanging pool does not delay the rest.
const toolWithin = 5 * time.Second

// toolDirs are where administrators' programs lie. PATH is not used, since it may be an ordinary
// user's while this process is root.
const toolDirs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Ask runs the program on this host. A missing program is fs.ErrNotExist. The answer is at most
// MaxFile bytes.
func (l Live) Ask(ctx context.Context, t Tool) ([]byte, error) {
	argv := t.argv()
	if argv == nil {
		return nil, fmt.Errorf("ask %q: unknown tool", t)
	}
	return l.ask(ctx, argv)
}

// Owner asks rpm(8) for the package that a file belongs to; empty: none. A host without rpm is
// fs.ErrNotExist.
func (l Live) Owner(ctx context.Context, file string) (string, error) {
	b, err := l.ask(ctx, []string{"rpm", "-q", "--queryformat", `%{NAME}\n`, "-f", "--", file})
	return ParseOwner(b, file, err)
}

// ParseOwner reads rpm's answer: one package a line, or that no package owns the file, for which
// rpm exits with an error.
func ParseOwner(b []byte, file string, err error) (string, error) {
	first, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if bytes.HasPrefix(first, []byte("file "+file+" is not owned")) {
		return "", nil
	}
	if err == nil && (len(first) == 0 || bytes.ContainsAny(first, " /\x00")) {
		err = fmt.Errorf("ask rpm: %q is no package", first)
	}
	if err != nil {
		return "", err
	}
	return string(first), nil
}

// ask runs a program that only reads; its output is returned with an error, too.
func (l Live) ask(ctx context.Context, argv []string) ([]byte, error) {
	program := ""
	for _, dir := range filepath.SplitList(toolDirs) {
		file := filepath.Join(dir, argv[0])
		if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			program = file
			break
		}
	}
	if program == "" || l.Root != "" && l.Root != "/" {
		return nil, fmt.Errorf("ask %s: %w", argv[0], fs.ErrNotExist)
	}
	ctx, cancel := context.WithTimeout(ctx, toolWithin)
	defer cancel()
	cmd := Exec(ctx, append([]string{program}, argv[1:]...)...)
	out, said := &limited{most: MaxFile}, &limited{most: 4096}
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = []string{"LC_ALL=C", "PATH=" + toolDirs}, "/", out, said, time.Second
	if err := cmd.Run(); err != nil {
		line, _, _ := bytes.Cut(bytes.TrimSpace(said.Bytes()), []byte("\n"))
		if bytes.Contains(bytes.ToLower(line), []byte("permission denied")) {
			err = errors.Join(fs.ErrPermission, err)
		}
		return out.Bytes(), fmt.Errorf("ask %s: %w: %s", argv[0], err, line)
	}
	if out.over {
		return nil, fmt.Errorf("ask %s: the answer is larger than %d bytes", argv[0], MaxFile)
	}
	return out.Bytes(), nil
}

// limited keeps what fits and discards the rest, so that the program does not block.
type limited struct {
	bytes.Buffer
	most int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.most - l.Len()
	if len(p) > room {
		l.over = true
		_, _ = l.Buffer.Write(p[:max(0, room)]) // a Buffer's Write cannot fail
		return len(p), nil
	}
	return l.Buffer.Write(p)
}
