package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
	"github.com/creachadair/jrpc2/server"

	"linerate/internal/failure"
	"linerate/internal/fleet"
)

// maxSocketPath is what Linux takes as the path of a socket; others take somewhat less.
const maxSocketPath = 104

// Parameters and results of what the socket is asked.
type (
	about struct {
		Site    string   `json:"site"`
		Servers []string `json:"servers"`
		LogFile string   `json:"log_file"`
		// Broken is why the site's log is not written, if it is not.
		Broken string `json:"broken,omitempty"`
	}
	tokenParams struct {
		Name   string            `json:"name,omitempty"`
		Labels map[string]string `json:"labels,omitempty"`
		Within time.Duration     `json:"within_ns"`
		Hosts  int               `json:"hosts"`
	}
	tokenResult struct {
		Token string `json:"token"`
		Made  Token  `json:"made"`
	}
	revokeParams struct {
		Host string `json:"host"`
		By   string `json:"by"`
	}
	controllerParams struct {
		Name      string `json:"name"`
		ReadsOnly bool   `json:"reads_only,omitempty"`
	}
	logParams struct {
		Most int `json:"most"`
	}
)

// Serve answers commands of this user through the socket until ctx ends.
func (d *Desk) Serve(ctx context.Context) error {
	at := filepath.Join(d.dir, socketName)
	if len(at) > maxSocketPath {
		return fmt.Errorf("listen on %s: that is longer than the %d bytes of a socket's name; choose a shorter XDG_STATE_HOME", at, maxSocketPath)
	}
	// One of a desk that was killed: whoever holds the lock may remove it.
	if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listen on %s: %w", at, err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", at)
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	answers := handler.Map{
		"desk.about": handler.New(func(context.Context) about {
			d.mu.Lock()
			defer d.mu.Unlock()
			a := about{Site: d.m.Site, Servers: d.m.Servers, LogFile: d.log.path}
			if d.log.err != nil {
				a.Broken = d.log.err.Error()
			}
			return a
		}),
		"desk.hosts": handler.New(func(context.Context) []Status { return d.Hosts() }),
		"desk.token": handler.New(func(_ context.Context, p tokenParams) (tokenResult, error) {
			token, t, err := d.MakeToken(p.Name, p.Labels, p.Within, max(1, p.Hosts)) // 0: who asks is older
			return tokenResult{token, t}, err
		}),
		"desk.tokens": handler.New(func(context.Context) []Token { return d.Tokens() }),
		"desk.revoke": handler.New(func(_ context.Context, p revokeParams) (Revoked, error) { return d.Revoke(p.Host, p.By) }),
		"desk.controller": handler.New(func(_ context.Context, p controllerParams) (fleet.Credential, error) {
			return d.Controller(p.Name, p.ReadsOnly)
		}),
		"desk.log": handler.New(func(_ context.Context, p logParams) ([]Line, error) { return d.Log(p.Most) }),
	}
	return server.Loop(ctx, server.NetAccepter(ln, channel.Line), server.Static(answers),
		&server.LoopOptions{ServerOptions: &jrpc2.ServerOptions{DisableBuiltin: true}})
}

// NoDeskError: no process holds the site.
type NoDeskError struct{ Dir string }

// Error implements error.
func (e *NoDeskError) Error() string {
	return fmt.Sprintf("no desk answers for a site in %s", e.Dir)
}

// Client asks a desk that runs on this machine.
type Client struct {
	// Site is the site's name, Servers where its brokers are, LogFile its log.
	Site    string
	Servers []string
	LogFile string
	// Broken is why the site's log is not written, if it is not.
	Broken string

	rpc *jrpc2.Client
}

// Connect reaches the desk that holds a directory; where there is none the error is a
// *NoDeskError.
func Connect(ctx context.Context, dir string) (*Client, error) {
	var nd net.Dialer
	nc, err := nd.DialContext(ctx, "unix", filepath.Join(dir, socketName))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, failure.Advise(&NoDeskError{dir}, failure.StartDesk)
	}
	if err != nil {
		return nil, fmt.Errorf("reach the site's desk: %w", err)
	}
	c := &Client{rpc: jrpc2.NewClient(channel.Line(nc, nc), nil)}
	var a about
	if err := c.ask(ctx, "desk.about", nil, &a); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.Site, c.Servers, c.LogFile, c.Broken = a.Site, a.Servers, a.LogFile, a.Broken
	return c, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.rpc.Close() }

func (c *Client) ask(ctx context.Context, method string, params, result any) error {
	err := c.rpc.CallResult(ctx, method, params, result)
	var said *jrpc2.Error
	if errors.As(err, &said) {
		if said.Code == jrpc2.MethodNotFound {
			return failure.Advise(fmt.Errorf("ask the site's desk: it is of another version of linerate, and knows no %s", method), failure.RestartDesk)
		}
		var text string
		if json.Unmarshal(said.Data, &text) == nil && text != "" {
			return errors.New(text)
		}
		return errors.New(said.Message)
	}
	if err != nil {
		return fmt.Errorf("ask the site's desk: %w", err)
	}
	return nil
}

// Token has a token made.
func (c *Client) Token(ctx context.Context, name string, labels map[string]string, within time.Duration, hosts int) (string, Token, error) {
	var r tokenResult
	err := c.ask(ctx, "desk.token", tokenParams{name, labels, within, hosts}, &r)
	if got := r.Made.most(); err == nil && got != hosts {
		err := fmt.Errorf("make token: it would admit %d hosts and not %d: the site's desk is of an older linerate", got, hosts)
		return "", r.Made, failure.Advise(err, failure.RestartDesk)
	}
	return r.Token, r.Made, err
}

// Tokens lists the tokens that can admit somebody.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	var r []Token
	err := c.ask(ctx, "desk.tokens", nil, &r)
	return r, err
}

// Hosts lists the hosts that were not revoked.
func (c *Client) Hosts(ctx context.Context) ([]Status, error) {
	var r []Status
	err := c.ask(ctx, "desk.hosts", nil, &r)
	return r, err
}

// Revoke shuts a host out.
func (c *Client) Revoke(ctx context.Context, host, by string) (Revoked, error) {
	var r Revoked
	err := c.ask(ctx, "desk.revoke", revokeParams{host, by}, &r)
	return r, err
}

// Controller has a credential made for one command.
func (c *Client) Controller(ctx context.Context, name string, readsOnly bool) (fleet.Credential, error) {
	var r fleet.Credential
	err := c.ask(ctx, "desk.controller", controllerParams{name, readsOnly}, &r)
	return r, err
}

// Log reads the last lines of the site's log.
func (c *Client) Log(ctx context.Context, most int) ([]Line, error) {
	var r []Line
	err := c.ask(ctx, "desk.log", logParams{most}, &r)
	return r, err
}
