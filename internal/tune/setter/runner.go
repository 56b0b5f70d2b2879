package setter

import "context"

// Runner starts a program, never through a shell, and returns what it printed. A program that is
// not there is fs.ErrNotExist; one that failed is an error that says what it wrote to stderr.
type Runner func(ctx context.Context, argv ...string) ([]byte, error)
