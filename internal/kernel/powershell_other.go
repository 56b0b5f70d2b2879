//go:build !windows

package kernel

// PowerShell is the program of Windows PowerShell, by its name: no other system has it in a place
// of its own.
func PowerShell() (string, error) { return "powershell", nil }
