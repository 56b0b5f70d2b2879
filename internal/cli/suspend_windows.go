package cli

import "os"

// onStop delivers nothing: Windows does not stop programs.
func onStop() (stops <-chan os.Signal, end func()) { return nil, func() {} }

func stopAll() error { return nil }

func stopSelf() {}
