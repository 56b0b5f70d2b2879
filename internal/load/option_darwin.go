package load

// macOS has no option for the congestion control of a socket, and none for its pacing.
func congestionOf(uintptr) string         { return "" }
func setCongestion(uintptr, string) error { return lacking("the congestion control") }
func setPacing(uintptr, int) error        { return lacking("the pacing") }
