package kernel

import (
	"context"
	"os/exec"
)

// Exec prepares a process. It is the one place in linerate that can start
// one: argv is executed as it stands, never through a shell.
func Exec(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, argv[0], argv[1:]...)
}
