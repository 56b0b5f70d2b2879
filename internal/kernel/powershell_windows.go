package kernel

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// PowerShell is the program of Windows PowerShell, which every Windows has. It is not looked for
// in PATH, where somebody else may have put another.
func PowerShell() (string, error) {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return "", fmt.Errorf("find powershell.exe: %w", err)
	}
	return filepath.Join(dir, "WindowsPowerShell", "v1.0", "powershell.exe"), nil
}
