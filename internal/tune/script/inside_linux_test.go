package script

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"linerate/internal/systems/fake"
)

// inside is the shell that runs within the test: a case takes milliseconds there, and hundreds of
// processes under a real one. TestTheShellInsideAgrees holds it against sh.
var inside = []string{"inside"}

// prologue are the builtins that it lacks. It gets no signals but the kill of a test.
const prologue = `umask() { :; }
export() { :; }
trap() { case $2 in EXIT) builtin trap "$1" EXIT ;; esac; }
`

var errKilled = errors.New("killed")

// process is one run of a script.
type process struct {
	b      *box
	env    map[string]string
	kill   int // before the call of that number, below 0 after it
	cancel context.CancelFunc

	mu   sync.Mutex
	n    int
	dead bool
}

// runInside is what run does with a shell.
func (b *box) runInside(env []string, args ...string) (string, int) {
	b.t.Helper()
	text, err := os.ReadFile(b.file)
	if err != nil {
		b.t.Fatal(err)
	}
	program, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(prologue+string(text)), b.file)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := &process{b: b, cancel: cancel, env: map[string]string{fake.OS: b.kind, fake.State: b.fakes, fake.Root: b.root}}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		p.env[name] = value
	}
	p.kill, _ = strconv.Atoi(p.env[killAt]) // it may not be there
	var out strings.Builder
	shell, err := interp.New(interp.StdIO(nil, &out, &out), interp.Params(append([]string{"--"}, args...)...), interp.Env(expand.ListEnviron("PATH="+realPath)),
		interp.OpenHandler(p.open), interp.ExecHandlers(func(next interp.ExecHandlerFunc) interp.ExecHandlerFunc { return p.exec(next) }))
	if err != nil {
		b.t.Fatal(err)
	}
	err = shell.Run(ctx, program)
	b.inside = p.n
	var status interp.ExitStatus
	switch {
	case p.dead:
		return strings.ReplaceAll(out.String(), errKilled.Error()+"\n", ""), -1 // which a killed shell does not say
	case errors.As(err, &status):
		return out.String(), int(status)
	case err != nil:
		b.t.Fatalf("%v: %s", err, out.String())
	}
	return out.String(), 0
}

// open is of redirections: the dead write nothing.
func (p *process) open(ctx context.Context, path string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	if dead {
		return nil, errKilled
	}
	return interp.DefaultOpenHandler()(ctx, path, flag, perm)
}

// call counts one, and tells whether the script is killed before it or after.
func (p *process) call(name string) (before, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return true, true
	}
	if !fake.Is(name) && !slices.Contains(writers, name) {
		return false, false
	}
	p.n++
	return p.n == p.kill, p.n == -p.kill
}

func (p *process) die() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	p.cancel()
	return errKilled
}

func (p *process) exec(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		name := filepath.Base(args[0])
		before, after := p.call(name)
		if before {
			return p.die()
		}
		code, ok := p.work(interp.HandlerCtx(ctx), name, args[1:])
		var err error
		switch {
		case !ok:
			err = next(ctx, args)
		case code != 0:
			err = interp.ExitStatus(code)
		}
		if after {
			return p.die()
		}
		return err
	}
}

// work is a program of the fake, or one of this file's; false: a real one has to do it.
func (p *process) work(at interp.HandlerContext, name string, args []string) (code int, ok bool) {
	if name == "cat" && len(args) == 0 {
		_, err := io.Copy(at.Stdout, at.Stdin)
		return failing(err), true
	}
	if fake.Is(name) {
		return fake.Main(append([]string{name}, args...), func(k string) string { return p.env[k] }, at.Stdout, at.Stderr), true
	}
	tool, known := tools()[name]
	if !known {
		return 0, false
	}
	return tool(at, args)
}

func failing(err error) int {
	if err != nil {
		return 1
	}
	return 0
}
