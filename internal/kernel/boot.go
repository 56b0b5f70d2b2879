package kernel

// Mount is a file system to be mounted, which the first process of a machine does before there is
// any other program.
type Mount struct {
	Source, Target string // the target is made if it is not there
	Type, Options  string
	ReadOnly       bool
	Bind           bool // source is a file or directory that appears at target too
}
