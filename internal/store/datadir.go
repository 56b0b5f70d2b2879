package store

import (
	"fmt"
	"path/filepath"
)

// runsDir is the folder of bundles below the data directory.
const runsDir = "runs"

// DataDir returns linerate's data directory as the XDG base directory specification has it:
// $XDG_DATA_HOME/linerate where that is an absolute path, else on Windows
// %LOCALAPPDATA%\linerate, else ~/.local/share/linerate. It creates nothing.
func DataDir(getenv func(string) string) (string, error) {
	return xdgDir(getenv, "data", "XDG_DATA_HOME", filepath.Join(".local", "share"), "LOCALAPPDATA")
}

// ConfigDir returns linerate's configuration directory likewise: $XDG_CONFIG_HOME/linerate, else on
// Windows %APPDATA%\linerate, else ~/.config/linerate.
func ConfigDir(getenv func(string) string) (string, error) {
	return xdgDir(getenv, "configuration", "XDG_CONFIG_HOME", ".config", "APPDATA")
}

func xdgDir(getenv func(string) string, what, xdg, belowHome, windows string) (string, error) {
	for _, c := range []struct{ variable, below string }{{xdg, ""}, {windows, ""}, {"HOME", belowHome}} {
		if d := getenv(c.variable); filepath.IsAbs(d) {
			return filepath.Join(d, c.below, "linerate"), nil
		}
	}
	return "", fmt.Errorf("find %s directory: neither %s nor HOME is an absolute path: set one of them", what, xdg)
}
