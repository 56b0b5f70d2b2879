// Package foreign tests the commands on hosts that run another system than Linux: behind a real
// sshd, whose sessions find imitations of that system's commands, and where linerate runs on such
// a system itself. Hosts with linerate's own agent are tested in package cli.
package foreign

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"linerate/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"linerate": func() {
		os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}})
}
