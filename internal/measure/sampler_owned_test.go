package measure

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
)

// ends of a sample's connections, by their remote port and inode.
func inodes(s model.Sample) (out []uint32) {
	for _, c := range s.Conns {
		out = append(out, c.Inode)
	}
	slices.Sort(out)
	return out
}

// The connections of a process are those that it and its children hold; with
// addresses besides, also those to there; one opened later is found.
func TestConnectionsOfAProcess(t *testing.T) {
	h := nfsHost(t)
	h.Files["proc/900/fd/3@"] = "socket:[5001]\n"
	h.Files["proc/900/fd/4@"] = "pipe:[1]\n"
	h.Files["proc/900/task/901/children"] = "950 \n"
	h.Files["proc/950/fd/9@"] = "socket:[5002]\n"
	s := sampler(t, h, Watch{OwnedBy: []int{900}, PIDs: []int{900}})
	if got := inodes(read(t, s)); !slices.Equal(got, []uint32{5001, 5002}) {
		t.Errorf("held by 900 and its child: %v", got)
	}
	alone := sampler(t, h, Watch{OwnedBy: []int{950}})
	if got := inodes(read(t, alone)); !slices.Equal(got, []uint32{5002}) {
		t.Errorf("held by the child: %v", got)
	}
	both := sampler(t, h, Watch{OwnedBy: []int{950}, Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.20")}})
	if got := inodes(read(t, both)); !slices.Contains(got, 5001) || !slices.Contains(got, 5002) {
		t.Errorf("held by the child, or to the server: %v", got)
	}
	none := sampler(t, h, Watch{OwnedBy: []int{951}})
	if got := inodes(read(t, none)); len(got) != 0 {
		t.Errorf("held by one that ended: %v", got)
	}
	h.Files["proc/951/fd/0@"] = "socket:[5001]\n"
	if got := inodes(read(t, none)); !slices.Equal(got, []uint32{5001}) {
		t.Errorf("opened later: %v", got)
	}
}

func TestConnectionsOfAProcessThatIsPrivate(t *testing.T) {
	h := nfsHost(t)
	h.Fail["/proc/900/fd"] = fs.ErrPermission
	s := sampler(t, h, Watch{OwnedBy: []int{900}})
	if got := read(t, s); len(got.Conns) != 0 {
		t.Errorf("%d connections", len(got.Conns))
	}
	if b := s.Blind(); !slices.ContainsFunc(b, func(b model.Blind) bool { return b.What == "tcp_info" && strings.Contains(b.How, "process") }) {
		t.Errorf("blind %+v", b)
	}
	if _, err := s.conns.list(context.Background()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
}
