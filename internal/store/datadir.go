package store

import (
	"errors"
	"path/filepath"
)

// runsDir is the folder of bundles below the data directory.
const runsDir = "runs"

// DataDir returns linerate's data directory as the XDG base directory specification has it:
// $XDG_DATA_HOME/linerate where that is an absolute path, else ~/.local/share/linerate; on
// Windows, where neither is set, %LOCALAPPDATA%\linerate. It creates nothing.
func DataDir(getenv func(string) string) (string, error) {
	if d := getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "linerate"), nil
	}
	if d := getenv("HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, ".local", "share", "linerate"), nil
	}
	if d := getenv("LOCALAPPDATA"); filepath.IsAbs(d) {
		return filepath.Join(d, "linerate"), nil
	}
	return "", errors.New("find data directory: neither XDG_DATA_HOME nor HOME is an absolute path: set one of them")
}
