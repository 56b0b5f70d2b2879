package kernel

// Mount is a file system to mount. The first process of a machine does that before any other
// program runs.
type Mount struct {
	Source, Target string // the target is created if it does not exist
	Type, Options  string
	ReadOnly       bool
	Bind           bool // source is a file or directory that appears at target too
}
