package lab

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/wire"
)

// How a reader is starved. It needs but 2% of a core at 1 Gbit/s, so it must
// get less. Burners run a little behind ordinary tasks and the reader is put
// last of all; the scheduler's weights (kernel/sched/core.c) are then 15 for the reader
// against 4 × 335: 1.1%. What only watches the host keeps its ordinary weight
// of 1024 and thus gets its turn at once. This needs no privilege.
const (
	burners    = 4
	burnerNice = 5
	sinkNice   = 19
	// sinkLook is how often new readers are looked for.
	sinkLook = 20 * time.Millisecond
)

func startBurner(_ context.Context, l *Lab) error {
	if l.burner != nil {
		return nil
	}
	name := l.topo.Flow.Receiver
	argv := append(l.Enter(name), l.opts.Self...)
	argv = append(argv, "lab-burn", "--addr", l.Addr(name).String())
	b, err := wire.Start("burner of "+name, argv, l.env(), kernel.Namespaces{})
	if err != nil {
		return err
	}
	l.burner = b
	return b.Call(context.Background(), "start", struct{}{}, nil)
}

func stopBurner(_ context.Context, l *Lab) error {
	if l.burner == nil {
		return nil
	}
	err := l.burner.Stop()
	l.burner = nil
	return err
}

// BurnMain is the hidden subcommand lab-burn: inside an emulated host it keeps
// the CPU busy and puts whoever holds a connection of address --addr behind
// everything else. It returns the exit status.
func BurnMain(args []string, stdin io.Reader, stdout io.Writer) int {
	fset := flag.NewFlagSet("lab-burn", flag.ContinueOnError)
	addr := fset.String("addr", "", "data address of the host")
	err := fset.Parse(args)
	var ip netip.Addr
	if err == nil {
		ip, err = netip.ParseAddr(*addr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, fmt.Errorf("burn: %w", err))
		return 1
	}
	return wire.Main(stdin, stdout, map[string]wire.Handler{
		"start": wire.Do(func(struct{}) error { return startBurning(ip) }),
	})
}

func startBurning(ip netip.Addr) error {
	ns, err := kernel.NetNamespace("/proc", os.Getpid())
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(burners + 2)
	ready := make(chan error, burners)
	var turns atomic.Int64
	for range burners {
		go func() {
			runtime.LockOSThread()
			ready <- kernel.SetNice(0, burnerNice)
			for n := 0; ; n++ { // it ends with the process
				turns.Store(int64(n))
			}
		}()
	}
	for range burners {
		if err := <-ready; err != nil {
			return err
		}
	}
	go func() {
		for range time.Tick(sinkLook) {
			if err := demoteReaders(ip, ns); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
		}
	}()
	return nil
}

// demoteReaders gives the threads of every process of network namespace ns
// that holds an established connection of ip the last turn on the CPU.
func demoteReaders(ip netip.Addr, ns string) error {
	f, err := os.Open("/proc/self/net/tcp")
	if err != nil {
		return fmt.Errorf("list connections: %w", err)
	}
	inodes, err := establishedInodes(f, ip)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("list connections: %w", err)
	}
	if len(inodes) == 0 {
		return nil
	}
	pids, err := kernel.Processes("/proc")
	if err != nil {
		return err
	}
	for _, pid := range pids {
		// A process may end while it is looked at: its files are gone then.
		if got, err := kernel.NetNamespace("/proc", pid); err != nil || got != ns || !holds(pid, inodes) {
			continue
		}
		if err := demote(pid); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// establishedInodes reads the format of /proc/net/tcp (proc_net_tcp in the
// kernel's documentation) for the sockets of local address ip in state 01.
func establishedInodes(r io.Reader, ip netip.Addr) (map[string]bool, error) {
	want := ip.As4()
	// The address is printed as one number in the machine's byte order.
	little := strings.ToUpper(hex.EncodeToString([]byte{want[3], want[2], want[1], want[0]}))
	big := strings.ToUpper(hex.EncodeToString(want[:]))
	inodes := map[string]bool{}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 10 || f[3] != "01" {
			continue
		}
		if a, _, _ := strings.Cut(f[1], ":"); a == little || a == big {
			inodes["socket:["+f[9]+"]"] = true
		}
	}
	return inodes, sc.Err()
}

func holds(pid int, sockets map[string]bool) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false // ended, or not ours to look at
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && sockets[to] {
			return true
		}
	}
	return false
}

func demote(pid int) error {
	tids, err := kernel.Processes(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return err
	}
	for _, tid := range tids {
		// A thread may have ended since it was listed.
		if err := kernel.SetNice(tid, sinkNice); err != nil && !kernel.IsGone(err) {
			return err
		}
	}
	return nil
}
