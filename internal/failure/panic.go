package failure

// OnPanic, deferred, lets a panic of its goroutine go on, after what has to be done before the program ends
// with it: a terminal is given back, say. nil: nothing has to.
func OnPanic(first func()) {
	if x := recover(); x != nil {
		if first != nil {
			first()
		}
		panic(x)
	}
}
