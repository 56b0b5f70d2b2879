package setter

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Place identifies a value: a setting id and, for a setting of a device, the device as
// model.NIC.Device names it.
type Place struct{ Setting, Target string }

// String names the place for people.
func (p Place) String() string {
	if p.Target == "" {
		return p.Setting
	}
	return p.Setting + " of " + p.Target
}

// Setter is one mechanism. Every implementation passes settertest.Conform.
//
// Values are strings in the setter's canonical form, so two values are equal exactly when the
// strings are. A value may have named parts ("rx-gro=on"); it then covers only those parts.
type Setter interface {
	// Owns tells whether the setting id belongs to this mechanism.
	Owns(setting string) bool
	// Canonical returns value in canonical form, or why no such value exists.
	Canonical(at Place, value string) (string, error)
	// Read returns the value in force, in canonical form and restricted to the parts that like
	// names.
	Read(ctx context.Context, at Place, like string) (string, error)
	// Write asks the kernel for value. A nil error does not mean that the value is in force: read
	// back.
	Write(ctx context.Context, at Place, value string) error
	// Shell says how a POSIX shell does the same without linerate.
	Shell(at Place, like string) (Shell, error)
}

// Restorer is a Setter that restores an original value although a plan would be refused it for its side
// effects: a plan of an earlier build may have had them.
type Restorer interface {
	// Restore is Write of a value that was in force before a plan. aside is what is not as it was
	// although the value is, a sentence without its end; empty: nothing that is known of.
	Restore(ctx context.Context, at Place, value string) (aside string, err error)
}

// Shell is a Place in POSIX shell.
type Shell struct {
	// Read is a command that prints the value in canonical form.
	Read string
	// Write is a command that writes the canonical value in "$value".
	Write string
	// Programs are those that the commands call besides coreutils. A host may lack them.
	Programs []string
}

// Coreutils are the programs that every Shell may call.
func Coreutils() []string {
	return []string{"cat", "chmod", "chown", "cp", "echo", "ls", "mkdir", "mv", "printf", "pwd", "readlink", "rm", "rmdir", "sha256sum", "sort", "stat", "tr"}
}

// ProgramPath is where the programs of a Shell are searched.
const ProgramPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// ErrValue is the cause when a value or a setting name is malformed.
var ErrValue = errors.New("malformed")

// ErrUnsupported is the cause when the host, or its device, lacks the setting.
var ErrUnsupported = errors.ErrUnsupported

// ErrSideEffect is the cause when a write would also change something that writing the old value
// again does not restore.
var ErrSideEffect = errors.New("refused, for it could not be undone")

// Quote makes s one word for a POSIX shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// maxValue bounds a value, in bytes; the longest network sysctl is far below it.
const maxValue = 4096

// fields splits a value at white space and refuses anything but printable ASCII: other bytes
// never occur in a value and could only confuse a journal, a terminal or a shell.
func fields(at Place, value string) ([]string, error) {
	f := strings.Fields(value)
	if len(f) == 0 || len(value) > maxValue {
		return nil, fmt.Errorf("value of %s: %d bytes, want 1 to %d: %w", at, len(value), maxValue, ErrValue)
	}
	for _, word := range f {
		for _, c := range []byte(word) {
			if c <= ' ' || c > '~' {
				return nil, fmt.Errorf("value %q of %s: not printable ASCII: %w", value, at, ErrValue)
			}
		}
	}
	return f, nil
}
