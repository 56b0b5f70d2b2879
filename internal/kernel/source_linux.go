package kernel

// OS says linux.
func (Live) OS() string { return "linux" }
