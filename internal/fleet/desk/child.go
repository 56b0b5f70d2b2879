package desk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"linerate/internal/fleet"
	"linerate/internal/kernel"
)

// Times that a broker may take: to say that it listens, and to end.
const (
	brokerTime    = 60 * time.Second
	brokerEndTime = 10 * time.Second
)

// Child is a broker that runs as a process of this one.
type Child struct {
	// URL is where it listens.
	URL string

	mu    sync.Mutex // one order at a time
	in    io.WriteCloser
	lines *bufio.Scanner
	pid   int
	kill  func() error
	ended chan struct{}
	how   error
}

// StartBroker starts a broker's program. It ends with Close, and with this process: its stdin is
// a pipe from here.
func StartBroker(ctx context.Context, argv []string, task fleet.BrokerTask) (*Child, error) {
	// In a context of its own: it is ended by Close, after hosts were told what there is to tell.
	cmd := kernel.Exec(context.WithoutCancel(ctx), argv...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	c := &Child{in: in, lines: bufio.NewScanner(out), pid: cmd.Process.Pid, kill: cmd.Process.Kill, ended: make(chan struct{})}
	slow := time.AfterFunc(brokerTime, func() { _ = c.kill() }) // it may have ended by itself
	said, err := c.order(task)
	slow.Stop()
	go func() {
		defer close(c.ended)
		c.how = cmd.Wait()
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start broker %s: %w", argv[0], err), c.Close())
	}
	c.URL = said.URL
	return c, nil
}

// order tells the broker something and waits for its answer.
func (c *Child) order(v any) (fleet.BrokerSaid, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var said fleet.BrokerSaid
	if err := json.NewEncoder(c.in).Encode(v); err != nil {
		return said, fmt.Errorf("tell the broker: %w", err)
	}
	if !c.lines.Scan() {
		return said, errors.Join(errors.New("it ended without an answer"), c.lines.Err())
	}
	if err := json.Unmarshal(c.lines.Bytes(), &said); err != nil {
		return said, fmt.Errorf("read what the broker says: %w", err)
	}
	if said.Error != "" {
		return said, errors.New(said.Error)
	}
	return said, nil
}

// Account implements Brokers.
func (c *Child) Account(jwt string) error {
	_, err := c.order(fleet.BrokerOrder{Account: jwt})
	return err
}

// PID is the broker's process.
func (c *Child) PID() int { return c.pid }

// Ended is closed when the broker is gone.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// How is how it ended, after Ended.
func (c *Child) How() error {
	if c.how == nil {
		return errors.New("the site's broker ended")
	}
	return fmt.Errorf("the site's broker ended: %w", c.how)
}

// Close ends the broker, and returns when it is gone.
func (c *Child) Close() error {
	err := c.in.Close()
	slow := time.AfterFunc(brokerEndTime, func() { _ = c.kill() }) // it may have ended by itself
	defer slow.Stop()
	<-c.ended
	return err
}
