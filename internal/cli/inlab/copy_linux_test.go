package inlab

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// copyRole in the environment makes the test binary one end of a plain TCP
// copy, such as any program would make: "sink ADDR" or "source ADDR".
// "idle ADDR" only connects.
const copyRole = "LINERATE_TEST_COPY"

// burstBytes is what the role "burst" sends and "count" takes in.
const burstBytes = 4 << 20

// plainCopy runs until its peer or its stdin ends.
func plainCopy(role string) error {
	if ifname, ok := strings.CutPrefix(role, "lldp "); ok {
		return speakLLDP(ifname)
	}
	if what, addr, _ := strings.Cut(role, " "); what == "count" || what == "burst" {
		return countedCopy(what, addr)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the signal
		os.Exit(0)
	}()
	what, addr, _ := strings.Cut(role, " ")
	if what == "sink" {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("listening\n"); err != nil {
			return err
		}
		c, err := l.Accept()
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
		return err
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	if what == "idle" {
		select {} // until stdin ends
	}
	block := make([]byte, 256<<10)
	for {
		if _, err := c.Write(block); err != nil {
			return err
		}
	}
}

// countedCopy moves burstBytes; the receiver says "ready", and then how many
// bytes came in how many seconds from the first on.
func countedCopy(what, addr string) error {
	if what == "burst" {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(make([]byte, burstBytes))
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	c, err := l.Accept()
	if err != nil {
		return err
	}
	started := time.Now()
	n, err := io.Copy(io.Discard, c)
	fmt.Println(n, time.Since(started).Seconds())
	return err
}
