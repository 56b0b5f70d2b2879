package serve

import (
	"fmt"

	"linerate/internal/app"
	"linerate/internal/app/watch"
	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Hosts is what a file of hosts says.
type Hosts struct {
	Names    []string
	LineRate model.Fact[unit.BitRate]
}

// ReadHosts reads a file of hosts.
func ReadHosts(path string) (Hosts, error) {
	b, err := app.ReadFile(path, conf.MaxFile)
	if err != nil {
		return Hosts{}, failure.Of(failure.Usage, "read hosts: %w", err)
	}
	h, err := parseHosts(path, b)
	if err != nil {
		return h, failure.As(failure.Usage, err)
	}
	return h, nil
}

// parseHosts parses a file of hosts, version 1: v, hosts, and line_rate, which may be missing.
func parseHosts(name string, text []byte) (h Hosts, err error) {
	r := conf.NewReader(conf.Kind{Name: "a file of hosts", Want: "want one YAML document, with v and hosts", Place: "%s:%d: %s", Entries: watch.MaxHosts}, name)
	root := r.Document(text)
	if r.Failed() {
		return h, r.Err()
	}
	m := root.Table("hosts", "v", "hosts", "line_rate")
	if v := m.Get("v").Integer(1, 1<<20, 0); v != 1 {
		r.Problem(m.Where("v"), "v: this linerate reads files of hosts of version 1")
	}
	h.Names = m.Get("hosts").Texts()
	if len(h.Names) < 2 && !r.Failed() {
		r.Problem(m.Where("hosts"), "hosts: name two or more, between which connections are watched")
	}
	if m.Has("line_rate") {
		h.LineRate = model.Known(conf.Read(m.Get("line_rate"), "a rate such as 10Gbit", unit.ParseBitRate))
	}
	if err := r.Err(); err != nil {
		return Hosts{}, fmt.Errorf("read hosts: %w", err)
	}
	return h, nil
}
