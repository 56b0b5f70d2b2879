package setter

import "linerate/internal/kernel"

// Tree is the files that a setter reads and writes; kernel.Root is one.
type Tree interface {
	kernel.Files
	// WriteFile writes to an existing file.
	WriteFile(path string, b []byte) error
	// Path is a file's path for a shell on this host.
	Path(abs string) string
}
