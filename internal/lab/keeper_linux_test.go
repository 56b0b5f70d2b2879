package lab

import (
	"net"
	"testing"
	"time"

	"linerate/internal/lab/wire"
)

// Whoever takes a lab down hears that it is down before the keeper ends, also
// when another client (one that asked for the status, say) goes meanwhile.
func TestKeeperOutlivesOtherClients(t *testing.T) {
	dir := t.TempDir()
	k := &keeper{lab: &Lab{id: "lab-0-0-none", dir: dir + "/lab", opts: Options{StateDir: dir}}, done: make(chan struct{}), now: time.Now}
	connect := func() (client net.Conn, ended chan struct{}) {
		client, served := net.Pipe()
		ended = make(chan struct{})
		go func() { defer close(ended); k.serve(served) }()
		return client, ended
	}
	other, otherEnded := connect()
	downer, downerEnded := connect()
	if err := wire.Ask(downer, "down", struct{}{}, nil); err != nil {
		t.Fatal(err)
	}
	_ = other.Close()
	<-otherEnded
	select {
	case <-k.done:
		t.Fatal("the keeper ends because another client went")
	default:
	}
	_ = downer.Close()
	<-downerEnded
	select {
	case <-k.done:
	default:
		t.Fatal("the keeper does not end although whoever took the lab down knows")
	}
}
