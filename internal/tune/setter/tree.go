package setter

import "linerate/internal/kernel"

// Tree is the files that a setter reads and writes; kernel.Root is one.
type Tree interface {
	kernel.Files
	// WriteFile writes to a file that is there already.
	WriteFile(path string, b []byte) error
	// Path is where a file lies for a shell on this host.
	Path(abs string) string
}
