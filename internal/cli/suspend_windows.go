package cli

import "linerate/internal/report/document"

// onSuspend does nothing: Windows does not stop programs.
func onSuspend(*document.Live) (end func()) { return func() {} }
