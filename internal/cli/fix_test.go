package cli

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"linerate/internal/app/fix"
	"linerate/internal/failure"
)

// Errors of a fix keep their kind and say what to type next.
func TestFixErrors(t *testing.T) {
	kept := &fix.KeptError{Hosts: []string{"a", "nas1"}, Err: io.EOF}
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{io.EOF, ExitFailed, "EOF"},
		{kept, ExitFailed, "EOF; what had earned its place before is kept: linerate tune undo a and nas1 puts it back"},
		{failure.As(failure.Interrupted, kept), ExitInterrupted, "EOF; what had earned its place before is kept: linerate tune undo a and nas1 puts it back"},
		{failure.As(failure.NotRestored, fmt.Errorf("fix: %w", kept)), ExitNotRestored, "EOF; what had earned its place before is kept: linerate tune undo a and nas1 puts it back"},
		{failure.As(failure.Usage, &fix.NotMountedError{Client: "a", Export: "nas1:/e"}), ExitUsage, "fix a nas1:/e: a has not mounted it: mount it, or name the two hosts alone to fix the network between them"},
	} {
		got := wordFix(c.err, []string{"a", "nas1:/e"})
		if got.Error() != c.want || codeOf(failure.KindOf(got)) != c.code {
			t.Errorf("%q with exit code %d, want %q with %d", got, codeOf(failure.KindOf(got)), c.want, c.code)
		}
		if errors.Is(c.err, io.EOF) != errors.Is(got, io.EOF) {
			t.Errorf("%q: the cause is lost", got)
		}
	}
}
