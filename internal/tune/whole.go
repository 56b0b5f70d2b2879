package tune

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// ErrScript: undo.sh is not as linerate wrote it, so that a run of it which ends well does not
// mean that everything was restored.
var ErrScript = errors.New("it was changed since it was written")

// sumPrefix begins the last line of undo.sh: the SHA-256 of all lines before it. Scripts of
// earlier versions have no such line.
const sumPrefix = "# sha256 "

// scriptEnd is the last command of undo.sh. Where it is missing, the shell says so.
const scriptEnd = "\nwhole=yes\nexit \"$failed\"\n"

// earlierEnd is how scripts of earlier versions end.
const earlierEnd = "\nexit \"$failed\"\n"

// sealed is a script with its sum at its end.
func sealed(script string) string {
	sum := sha256.Sum256([]byte(script))
	return script + sumPrefix + hex.EncodeToString(sum[:]) + "\n"
}

// wholeScript refuses a script that was cut, emptied, overwritten or edited: run with a shell, it
// could end well and have restored nothing.
func wholeScript(b []byte) error {
	i := bytes.LastIndex(b, []byte("\n"+sumPrefix)) + 1
	if i == 0 {
		if bytes.HasSuffix(b, []byte(earlierEnd)) {
			return nil
		}
		return fmt.Errorf("%w: its end is missing after %d bytes", ErrScript, len(b))
	}
	if string(b) != sealed(string(b[:i])) {
		return fmt.Errorf("%w: its sum is another", ErrScript)
	}
	return nil
}
