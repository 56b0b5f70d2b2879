package app

import (
	"fmt"
	"os"
	"path/filepath"

	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/tune"
)

// TCPRecords are the records, in the state directory of this user of Windows, of the TCP statistics that
// this process and others of linerate have switched on.
func (e Env) TCPRecords() (tune.Statistics, error) {
	const noRoot = -1 // no user of Windows has a number
	dir, err := host.DefaultStateDir(noRoot, e.Getenv)
	if err != nil {
		return tune.Statistics{}, err
	}
	start, err := kernel.ProcessBegan(os.Getpid())
	if err != nil {
		return tune.Statistics{}, fmt.Errorf("record TCP statistics: %w", err)
	}
	return tune.Statistics{Dir: filepath.Join(dir, "statistics"), PID: os.Getpid(), Start: start, Began: kernel.ProcessBegan, Now: e.Now}, nil
}
