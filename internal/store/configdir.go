package store

import (
	"errors"
	"path/filepath"
)

// ConfigDir returns linerate's configuration directory as the XDG base directory specification
// has it: $XDG_CONFIG_HOME/linerate where that is an absolute path, else ~/.config/linerate; on
// Windows, where neither is set, %APPDATA%\linerate. It creates nothing.
func ConfigDir(getenv func(string) string) (string, error) {
	if d := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "linerate"), nil
	}
	if d := getenv("HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, ".config", "linerate"), nil
	}
	if d := getenv("APPDATA"); filepath.IsAbs(d) {
		return filepath.Join(d, "linerate"), nil
	}
	return "", errors.New("find configuration directory: neither XDG_CONFIG_HOME nor HOME is an absolute path: set one of them")
}
