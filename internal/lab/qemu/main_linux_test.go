package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// guestCommand makes the test binary a machine's first process.
const guestCommand = "lab-test-guest"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guestCommand {
		guestMain()
	}
	os.Exit(m.Run())
}

// guestMain is init of the machine: it says what it sees, sends back what it is
// sent and powers off. What goes wrong is on the console.
func guestMain() {
	if err := guest(); err != nil {
		fmt.Println("guest:", err)
	}
	unix.Sync()
	fmt.Println("guest: power off:", unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF))
	os.Exit(1)
}

// sight is what the machine sees of itself.
type sight struct {
	Args    []string
	Host    string
	Release string
	UpTime  float64 // seconds, once the root was entered
	Nodes   int
	CPUs    int
	Boots   int  // counted in a file of its own
	Init    bool // the running program is at InitPath
	Missing []string
	NICs    map[string]nicSight // by MAC address
}

type nicSight struct {
	Driver                     string
	Node                       int
	Speed, Width               string
	PortSpeed, PortWidth       string // what the port above runs at
	PortCanSpeed, PortCanWidth string // and what it can
}

func guest() error {
	if err := EnterRoot(); err != nil {
		return err
	}
	s, err := look()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	control, err := OpenControl(ctx)
	if err != nil {
		return err
	}
	defer control.Close()
	if err := json.NewEncoder(control).Encode(s); err != nil {
		return err
	}
	return echo(control)
}

// echo answers "SIZE\n" and that many bytes with the same bytes, until a size
// of 0.
func echo(control io.ReadWriter) error {
	in := bufio.NewReader(control)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || n == 0 {
			return err
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		if _, err := control.Write(b); err != nil {
			return err
		}
	}
}

func look() (sight, error) {
	host, err := os.Hostname()
	if err != nil {
		return sight{}, err
	}
	nodes, err := filepath.Glob("/sys/devices/system/node/node[0-9]*")
	if err != nil {
		return sight{}, err
	}
	cpus, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err != nil {
		return sight{}, err
	}
	s := sight{
		Args: os.Args[1:], Host: host, Release: text("/proc/sys/kernel/osrelease"),
		Nodes: len(nodes), CPUs: len(cpus), NICs: map[string]nicSight{},
	}
	if up, _, ok := strings.Cut(text("/proc/uptime"), " "); ok {
		s.UpTime, _ = strconv.ParseFloat(up, 64)
	}
	if s.Boots, err = countBoot("/var/lib/linerate-boots"); err != nil {
		return s, err
	}
	st, err := os.Stat(InitPath)
	s.Init = err == nil && st.Size() > 1<<20
	for _, dir := range []string{"/proc/self", "/sys/class/net", "/dev/null", "/dev/pts", "/run", "/tmp", "/etc/passwd", "/sys/module/bonding"} {
		if _, err := os.Stat(dir); err != nil {
			s.Missing = append(s.Missing, err.Error())
		}
	}
	return s, lookAtNICs(s.NICs)
}

// countBoot adds one to a number in a file.
func countBoot(file string) (int, error) {
	n, _ := strconv.Atoi(text(file))
	n++
	return n, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(strconv.Itoa(n)), 0o644))
}

func lookAtNICs(nics map[string]nicSight) error {
	devices, err := filepath.Glob("/sys/class/net/*/device")
	if err != nil {
		return err
	}
	for _, d := range devices {
		dir, err := filepath.EvalSymlinks(d)
		if err != nil {
			return err
		}
		driver, err := filepath.EvalSymlinks(dir + "/driver")
		if err != nil {
			return err
		}
		node, err := strconv.Atoi(text(dir + "/numa_node"))
		if err != nil {
			return err
		}
		port := filepath.Dir(dir)
		nics[text(filepath.Dir(d)+"/address")] = nicSight{
			Driver: filepath.Base(driver), Node: node,
			Speed: text(dir + "/current_link_speed"), Width: text(dir + "/current_link_width"),
			PortSpeed: text(port + "/current_link_speed"), PortWidth: text(port + "/current_link_width"),
			PortCanSpeed: text(port + "/max_link_speed"), PortCanWidth: text(port + "/max_link_width"),
		}
	}
	return nil
}

func text(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
