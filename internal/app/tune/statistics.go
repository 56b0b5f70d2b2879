package tune

import (
	"linerate/internal/app"
	"linerate/internal/failure"
)

// statisticsOff switches off the TCP statistics that a linerate that was killed left on, where the host is
// this very Windows host: no script of a plan knows them.
func (f *foreign) statisticsOff(e app.Env) (notes []string, err error) {
	if !f.here || !f.kind.System().PowerShell {
		return nil, nil
	}
	records, err := e.TCPRecords()
	if err != nil {
		return nil, failure.As(failure.NotRestored, err)
	}
	notes, err = records.PutBack(e.Local.TCPStatistics)
	return notes, failure.As(failure.NotRestored, err)
}

// statisticsOn lists those that linerates of this user have switched on, where the host is this very Windows
// host.
func (f *foreign) statisticsOn(e app.Env) (notes []string, err error) {
	if !f.here || !f.kind.System().PowerShell {
		return nil, nil
	}
	records, err := e.TCPRecords()
	if err != nil {
		return nil, err
	}
	return records.List()
}
