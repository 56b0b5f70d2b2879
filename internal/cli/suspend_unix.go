//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"

	"linerate/internal/report/document"
)

// onSuspend restores the terminal when the user stops the program (Ctrl-Z). Once it goes on, the next
// picture is drawn anew. The returned function ends that.
func onSuspend(screen *document.Live) (end func()) {
	stops, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(stops, syscall.SIGTSTP)
	go func() {
		defer close(done)
		for range stops {
			_ = screen.Suspend(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }) // the next Draw fails likewise
		}
	}()
	return func() {
		signal.Stop(stops)
		close(stops)
		<-done
	}
}
