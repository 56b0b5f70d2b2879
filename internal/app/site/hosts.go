package site

import (
	"context"
	"time"

	"linerate/internal/app"
	"linerate/internal/fleet/desk"
	"linerate/internal/reach"
)

// Token is one that was made.
type Token struct {
	Site    string            `json:"site"`
	Token   string            `json:"token"` // secret
	Hosts   int               `json:"hosts"` // how many it admits
	ID      string            `json:"id"`
	Name    string            `json:"name,omitempty"` // that the host is to have; empty: what it calls itself
	Labels  map[string]string `json:"labels,omitempty"`
	Expires time.Time         `json:"expires"`
}

// MaxTokenHosts is how many hosts one token admits at most.
const MaxTokenHosts = desk.MaxTokenHosts

// MakeToken has the desk make a token that admits so many hosts.
func MakeToken(ctx context.Context, e app.Env, site, name string, labels map[string]string, within time.Duration, hosts int) (Token, error) {
	c, err := e.Reach(nil).Desk(ctx, site)
	if err != nil {
		return Token{}, err
	}
	defer c.Close() // it has answered
	text, t, err := c.Token(ctx, name, labels, within, hosts)
	return Token{Site: c.Site, Token: text, Hosts: t.Hosts, ID: t.ID, Name: t.Name, Labels: t.Labels, Expires: t.Expires}, err
}

// Host is a host of a site.
type Host = desk.Status

// List is the hosts of a site.
type List struct {
	Site    string   `json:"site"`
	Servers []string `json:"servers"`
	LogFile string   `json:"log_file"`
	// Broken is why the site's log is not written, if it is not.
	Broken string `json:"broken,omitempty"`
	Hosts  []Host `json:"hosts"`
	// Tokens are those that can still admit hosts.
	Tokens []Open `json:"tokens"`
}

// Open is a token that can still admit hosts; its secret is not kept.
type Open struct {
	ID       string            `json:"id"`
	Name     string            `json:"name,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Made     time.Time         `json:"made"`
	Expires  time.Time         `json:"expires"`
	Hosts    int               `json:"hosts"`    // how many it admits
	Admitted int               `json:"admitted"` // how many it has
}

// Hosts lists the hosts of a site, by name.
func Hosts(ctx context.Context, e app.Env, site string) (List, error) {
	c, err := e.Reach(nil).Desk(ctx, site)
	if err != nil {
		return List{}, err
	}
	defer c.Close() // it has answered
	l := List{Site: c.Site, Servers: c.Servers, LogFile: c.LogFile, Broken: c.Broken}
	if l.Hosts, err = c.Hosts(ctx); err != nil {
		return l, err
	}
	open, err := c.Tokens(ctx)
	l.Tokens = make([]Open, 0, len(open))
	for _, t := range open {
		l.Tokens = append(l.Tokens, Open{t.ID, t.Name, t.Labels, t.Made, t.Expires, t.Hosts, t.Admitted})
	}
	return l, err
}

// Revoked is a host that was shut out.
type Revoked struct {
	Site string `json:"site"`
	Name string `json:"name"`
	ID   string `json:"id"`
	// TokenEnded is the token that had admitted it, if that could still admit others.
	TokenEnded string `json:"token_ended,omitempty"`
}

// Revoke shuts a host out of its site, by its name or ID.
func Revoke(ctx context.Context, e app.Env, site, host string) (Revoked, error) {
	c, err := e.Reach(nil).Desk(ctx, site)
	if err != nil {
		return Revoked{}, err
	}
	defer c.Close() // it has answered
	h, err := c.Revoke(ctx, host, reach.Who(e.Getenv))
	return Revoked{Site: c.Site, Name: h.Name, ID: h.ID, TokenEnded: h.TokenEnded}, err
}

// Log is the end of a site's log.
type Log struct {
	Site  string    `json:"site"`
	File  string    `json:"file"` // the whole of it
	Lines []LogLine `json:"lines"`
}

// LogLine is one line of a site's log.
type LogLine = desk.Line

// ReadLog reads the last lines of a site's log.
func ReadLog(ctx context.Context, e app.Env, site string, most int) (Log, error) {
	c, err := e.Reach(nil).Desk(ctx, site)
	if err != nil {
		return Log{}, err
	}
	defer c.Close() // it has answered
	l := Log{Site: c.Site, File: c.LogFile}
	l.Lines, err = c.Log(ctx, most)
	return l, err
}
