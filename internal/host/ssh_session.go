package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// All scripts that run on the host. They are fixed but for a directory that mktemp chose and
// dirPattern restricts to harmless characters: nothing that a user writes reaches a shell as its
// text. They are in single quotes, so that every login shell passes them on unchanged.
const (
	// sessionScript makes the directory, takes the binary as this end sends it, and becomes the
	// agent: one login for all. The shell outlives the agent, whatever ends it, and cleans up;
	// it does so too if this end is gone before there is an agent. It is left to read each word
	// by itself: nothing follows one with its bytes until it has answered.
	sessionScript = `umask 077 && uname -s && uname -m && u=$(id -u) && echo "$u" && ` + toolsScript +
		` && d=$(mktemp -d "${TMPDIR:-/tmp}/linerate.XXXXXXXXXX") && ` +
		`trap : HUP INT TERM PIPE && echo "$d" && echo ` + probed + ` && { ` + takeScript + runScript + ` }`
	// toolsScript says too how large a linerate is that is installed there; which one it is, is
	// known once its copy was hashed.
	toolsScript = `{ t=` + toolsNone + `; if command -v head >/dev/null 2>&1 && command -v tee >/dev/null 2>&1; ` +
		`then t=` + toolsPlain + `; if command -v gzip >/dev/null 2>&1; then t=` + toolsGzip + `; fi; ` +
		`if command -v zstd >/dev/null 2>&1; then t="$t` + toolsZstd + `"; fi; ` +
		`if [ "$(printf ab | { head -c 1 >/dev/null; cat; })" = b ]; then t="$t` + toolsExact + `"; fi; fi; o=; ` +
		`for p in "$(command -v linerate)" /usr/local/bin/linerate /usr/bin/linerate; do ` +
		`if [ -f "$p" ] && [ -r "$p" ]; then o=$p; break; fi; done; ` +
		`if [ -n "$o" ]; then echo "$t $(wc -c < "$o")"; else echo "$t"; fi; }`
	// takeScript passes on what is sent piece by piece, each with its size in a line before it, and says when
	// it has one: see sendPieces.
	takeScript = `f="$d/linerate"; word=; n=; sum() { ` + sumScript + `; }; ` +
		`part() { while read -r m && [ "$m" != 0 ]; do head -c "$m" && echo ` + passed + ` >&3 || return 1; done; }; ` +
		`while read -r word n; do case "$word" in ` +
		`(` + wordOwn + `) { cat "$o" > "$f" && chmod 700 "$f" && sum < "$f"; }; echo ` + taken + `;; ` +
		`(` + wordZstd + `) part | { zstd -dcq > "$f" || cat >/dev/null; }; chmod 700 "$f" && { sum < "$f"; echo ` + taken + `; } || break;; ` +
		`(` + wordFirst + `) part > "$f" && chmod 700 "$f" && echo ` + taken + ` || break;; ` +
		`(` + wordPlain + `) { cat "$f"; part | tee -a "$f"; } | sum && echo ` + taken + ` || break;; ` +
		`(` + wordGzip + `) { cat "$f"; part | gzip -dc | tee -a "$f"; } | sum && echo ` + taken + ` || break;; ` +
		`(*) break;; esac; done 3>&1; `
	// runScript uses sudo if that asks for no password.
	runScript = `s=0; if [ "$word" = ` + wordRun + ` ]; then set -- agent --deployed; [ -z "$n" ] || set -- "$@" "$n"; ` +
		`if [ "$u" != 0 ] && sudo -n true 2>/dev/null; ` +
		`then sudo -n "$d/linerate" "$@"; else "$d/linerate" "$@"; fi; s=$?; elif [ -n "$word" ]; then s=1; fi; rm -rf "$d"; exit $s;`
	sumScript = `if command -v sha256sum >/dev/null 2>&1; then sha256sum; ` +
		`elif command -v shasum >/dev/null 2>&1; then shasum -a 256; ` +
		`else cat >/dev/null; echo none; fi`
	// For hosts without head or tee, and those that compute no hash: sessions of their own.
	copyScript     = `cat > @DIR@/linerate && chmod 700 @DIR@/linerate && { sum() { ` + sumScript + `; }; sum < @DIR@/linerate; }`
	readBackScript = `cat @DIR@/linerate`
	removeScript   = `rm -rf @DIR@`

	probed = "linerate-probed"
	taken  = "linerate-taken"
	passed = "linerate-passed"

	// What a host has to take the binary with.
	toolsGzip, toolsPlain, toolsNone = "gzip", "plain", "none"
	// toolsZstd follows one of the first two.
	toolsZstd = "+zstd"
	// toolsExact comes last: head reads no more than it is asked for, unlike that of BusyBox.
	toolsExact = "+exact"

	// Words to the shell, each with the number of bytes that follow in pieces; run with the agent's state
	// directory, if it is not its default.
	wordOwn   = "own"   // none: copy what is installed there
	wordZstd  = "zstd"  // all of a file, compressed by Zstandard
	wordFirst = "first" // of the file, as they are
	wordPlain = "plain" // the rest of it, as it is
	wordGzip  = "gzip"  // the rest, compressed
	wordRun   = "run"
)

// sshSession is a login whose shell has made a directory and waits for what goes there.
type sshSession struct {
	*started
	tail  tail // of stderr
	exact bool // what follows a piece may be sent before the host has passed it on
	taken bool // an agent runs in it
}

// log logs in and makes a directory on the host, which is gone when the session is.
func (s Ssh) log(ctx context.Context, n Name) (*sshSession, place, error) {
	x := &sshSession{}
	var err error
	if x.started, err = startProcess(append(s.argv(n), "exec sh -c '"+sessionScript+"'"), &x.tail); err != nil {
		return nil, place{}, noLogin(n, err, "")
	}
	out, err := x.within(ctx, func(func()) (string, error) { return x.until(probed) })
	if err != nil {
		// What the shell may have made goes with the session.
		return nil, place{}, noLogin(n, x.why(err), out)
	}
	p, err := parseProbe(out)
	if err != nil {
		return nil, place{}, errors.Join(err, x.close())
	}
	x.exact = p.exact
	return x, p, nil
}

// noLogin is the error of a login whose sh did not answer; printed is what came in its place.
func noLogin(n Name, err error, printed string) error {
	login := n.Host
	if n.User != "" {
		login = n.User + "@" + n.Host
	}
	way := "can you log in with: ssh -o BatchMode=yes " + login + " ?"
	var exit interface{ ExitCode() int }
	inside := errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &exit) && exit.ExitCode() != sshFailed
	if first := printable(strings.TrimSpace(printed)); first != "" {
		way = fmt.Sprintf("it printed %q; see what answers: ssh -o BatchMode=yes %s", first, login)
		inside = true
	}
	if inside {
		way = "the login does not answer as sh or PowerShell does: linerate cannot ask an appliance's own command line, only a shell; " + way
	}
	return fmt.Errorf("log in and make a directory: %w (%s)", err, way)
}

// until reads lines up to one that is mark, and returns those before it; with an error, all that came.
func (x *sshSession) until(mark string) (string, error) {
	var b strings.Builder
	c := make([]byte, 1)
	for line := 0; b.Len() < maxTalk; {
		// Byte by byte: what follows the mark is not this function's.
		if _, err := io.ReadFull(x.stdout, c); err != nil {
			return b.String(), err
		}
		b.WriteByte(c[0])
		if c[0] != '\n' {
			continue
		}
		if text := b.String(); text[line:] == mark+"\n" {
			return text[:line], nil
		}
		line = b.Len()
	}
	return b.String(), errTalkative
}

// maxTalk is how much a shell may say before a mark, a greeting included.
const maxTalk = 4096

// within does a part of the session's talk, which ends with ctx, and when the host has not gone
// on for sshStep; the part says when it has.
func (x *sshSession) within(ctx context.Context, part func(on func()) (string, error)) (string, error) {
	late := atomic.Bool{}
	stop := func() {
		_ = x.kill() // it may have ended
		// A child of ssh may hold the stream open.
		_ = x.stdout.Close()
	}
	timer := time.AfterFunc(sshStep, func() { late.Store(true); stop() })
	defer timer.Stop()
	defer context.AfterFunc(ctx, stop)()
	out, err := part(func() { timer.Reset(sshStep) })
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w in time: %w", errNoAnswer, err)
		}
	case late.Load():
		err = fmt.Errorf("%w within %v", errNoAnswer, sshStep)
	case errors.Is(err, errTalkative):
		stop()
	default:
		err = errEnded
	}
	return out, err
}

var errEnded = errors.New("the session ended")

// why is err, or what the session said as it ended.
func (x *sshSession) why(err error) error {
	how := x.end()
	if !errors.Is(err, errEnded) {
		return err
	}
	err = cmp.Or(how, io.ErrUnexpectedEOF)
	if last := printable(x.tail.last()); last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	return err
}

// close ends a session in which no agent runs; its shell removes the directory. An error means
// that it may still be there.
func (x *sshSession) close() error {
	if err := x.end(); err != nil {
		return fmt.Errorf("remove the directory: %w", err)
	}
	return nil
}

// end is close, and how the session ended.
func (x *sshSession) end() error {
	_ = x.stdin.Close() // of a session that has ended: how says more
	late := time.AfterFunc(sshConnect, func() {
		_ = x.kill() // it may have ended
		_ = x.stdout.Close()
	})
	defer late.Stop()
	_, rerr := io.Copy(io.Discard, x.stdout)
	how := x.wait()
	if how == nil && rerr != nil && !late.Stop() {
		how = fmt.Errorf("%w within %v", errNoAnswer, sshConnect)
	}
	return how
}

// become has the shell run the agent, with which the session's streams then talk.
func (x *sshSession) become(stateDir string) error {
	if strings.ContainsAny(stateDir, "\n\r") || strings.TrimSpace(stateDir) != stateDir {
		return fmt.Errorf("state directory %q: cannot be told to a shell", stateDir)
	}
	x.taken = true
	if _, err := io.WriteString(x.stdin, strings.TrimSpace(wordRun+" "+stateDir)+"\n"); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	return nil
}

// Of what is sent, the host has not said to have passed on more than nearAhead pieces. What is under way
// fills a buffer of its sshd, which makes a copy of all of it for every packet that comes: 4 MB took 0.09
// CPU-s more than 1 MB there. Where the first piece takes farTime, as after TCP's slow start, the others fill
// the path and not that buffer: farAhead are as many as ssh lets be under way. Until that is known,
// firstAhead are: a path of 16 ms is not full of them, nor the buffer. A host whose head takes what follows
// a piece with it gets them one by one.
const (
	pieceSize  = 256 << 10
	firstAhead = 4
	nearAhead  = 2
	farAhead   = 8
	farTime    = 20 * time.Millisecond
)

// send sends a word with what follows it, and returns what the shell answered.
func (x *sshSession) send(ctx context.Context, word string, data []byte) (string, error) {
	return x.within(ctx, func(on func()) (string, error) {
		if _, err := io.WriteString(x.stdin, word+" "+strconv.Itoa(len(data))+"\n"); err != nil {
			return "", err
		}
		if word != wordOwn {
			if err := x.sendPieces(data, on); err != nil {
				return "", err
			}
		}
		return x.until(taken)
	})
}

// sendPieces sends data piece by piece, and a line with 0 after the last.
func (x *sshSession) sendPieces(data []byte, on func()) error {
	most, begun := firstAhead, time.Now()
	if !x.exact {
		most = 1
	}
	for sent, passedOn := 0, 0; ; {
		n := min(len(data), pieceSize)
		b := append([]byte(strconv.Itoa(n)+"\n"), data[:n]...)
		if data = data[n:]; n > 0 {
			sent++
		}
		if x.exact && n > 0 && len(data) == 0 {
			b = append(b, "0\n"...)
		}
		if _, err := x.stdin.Write(b); err != nil {
			return err
		}
		on()
		for sent-passedOn >= most || len(data) == 0 && sent > passedOn {
			if _, err := x.until(passed); err != nil {
				return err
			}
			if passedOn++; passedOn == 1 && x.exact {
				if most = nearAhead; time.Since(begun) > farTime {
					most = farAhead
				}
			}
			on()
		}
		if len(data) == 0 && (x.exact || n == 0) {
			return nil
		}
	}
}
