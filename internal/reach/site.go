package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"linerate/internal/failure"
	"linerate/internal/fleet"
	"linerate/internal/fleet/desk"
	"linerate/internal/host"
)

// Sites are the sites kept on this machine, as far as this process has joined them: one
// connection to a site's brokers carries the sessions with all of its hosts.
type Sites struct {
	types  host.Types // of what all hosts answer
	mu     sync.Mutex
	joined map[string]*member // by the site's directory
}

// member is a site that was joined.
type member struct {
	mu    sync.Mutex
	link  *fleet.Link
	hosts []desk.Status
}

// Close leaves all sites.
func (s *Sites) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.joined {
		m.mu.Lock()
		if m.link != nil {
			m.link.Close()
		}
		m.mu.Unlock()
	}
	s.joined = nil
}

// at is the place of a site in this process.
func (s *Sites) at(dir string) *member {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.joined == nil {
		s.joined = map[string]*member{}
	}
	if s.joined[dir] == nil {
		s.joined[dir] = &member{}
	}
	return s.joined[dir]
}

// SitesDir is the directory with a directory for each site: in the user's XDG state directory
// where one is named, else /var/lib/linerate-sites for root.
func SitesDir(uid int, getenv func(string) string) (string, error) {
	return stateDir(uid, getenv, "linerate-sites")
}

// AgentDir is the directory where this host's place in a site is kept: in the user's XDG state
// directory where one is named, else /var/lib/linerate-agent for root.
func AgentDir(uid int, getenv func(string) string) (string, error) {
	return stateDir(uid, getenv, "linerate-agent")
}

func stateDir(uid int, getenv func(string) string, name string) (string, error) {
	if d := getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, name), nil
	}
	dir, err := host.DefaultStateDir(uid, getenv)
	return filepath.Join(filepath.Dir(dir), name), err
}

// Desk reaches the desk of a site on this machine; with no name, that of the only one.
func (d Dialler) Desk(ctx context.Context, site string) (*desk.Client, error) {
	dir, err := d.siteDir(site)
	if err != nil {
		return nil, err
	}
	c, err := desk.Connect(ctx, dir)
	if err != nil {
		return nil, failure.As(failure.Nothing, err)
	}
	return c, nil
}

// siteDir finds a site's directory.
func (d Dialler) siteDir(site string) (string, error) {
	root, err := SitesDir(os.Geteuid(), d.Getenv)
	if err != nil {
		return "", err
	}
	if site != "" {
		if err := fleet.CheckSite(site); err != nil {
			return "", failure.As(failure.Usage, err)
		}
		return filepath.Join(root, site), nil
	}
	all, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("look for sites: %w", err)
	}
	var names []string
	for _, e := range all {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	switch len(names) {
	case 0:
		return "", failure.Advise(failure.As(failure.Nothing, &desk.NoDeskError{Dir: root}), failure.StartDesk)
	case 1:
		return filepath.Join(root, names[0]), nil
	}
	return "", failure.Advise(failure.Of(failure.Usage, "several sites are kept here (%s)", strings.Join(names, ", ")), failure.SayWhichSite, names[0])
}

// SiteSilent is how long a host of a site may say nothing before it is not counted as there.
const SiteSilent = desk.Silent

// SiteHosts are the hosts of a site that a selection chooses, as Dial takes them, with what the
// desk knows of each.
func (d Dialler) SiteHosts(ctx context.Context, site, selection string) ([]desk.Status, error) {
	s, err := fleet.ParseSelector(selection)
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	c, err := d.Desk(ctx, site)
	if err != nil {
		return nil, err
	}
	defer c.Close() // it has answered
	all, err := c.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, h := range all {
		names = append(names, h.Name)
	}
	if missing := s.Missing(names); len(missing) > 0 {
		return nil, failure.Advise(failure.Of(failure.Usage, "site %s has no host %s", c.Site, strings.Join(missing, ", ")), failure.ListSite)
	}
	chosen := slices.DeleteFunc(all, func(h desk.Status) bool { return !s.Has(h.Name, h.Labels) })
	if len(chosen) == 0 {
		return nil, failure.Advise(failure.Of(failure.Nothing, "no host of site %s is %s", c.Site, selection), failure.ListSite)
	}
	return chosen, nil
}

// Brokers are the addresses of a site's brokers, with the ports that hosts call and by which brokers
// call each other. It fails if one has a name that does not resolve here.
func (d Dialler) Brokers(ctx context.Context, site string) (out []netip.AddrPort, err error) {
	c, err := d.Desk(ctx, site)
	if err != nil {
		return nil, err
	}
	defer c.Close() // it has answered
	for _, s := range c.Servers {
		name, ports, err := fleet.Ports(s)
		if err != nil {
			return nil, err
		}
		all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		if err != nil {
			return nil, fmt.Errorf("find broker %s: %w", name, err)
		}
		for _, a := range all {
			for _, p := range ports {
				out = append(out, netip.AddrPortFrom(a.Unmap(), p))
			}
		}
	}
	return out, nil
}

// SiteName is a host of a site as the user could have named it; site is empty for the only one.
func SiteName(site, host string) string {
	if site == "" {
		return "site:" + host
	}
	return "site:" + site + "/" + host
}

// NotHere says why a host of a site is not asked.
func NotHere(h desk.Status) error {
	switch {
	case h.Ended:
		return fmt.Errorf("its agent was stopped at %s", h.Heard.Local().Format(time.DateTime))
	case h.Heard.IsZero():
		return fmt.Errorf("its site has not heard of it since it was started; look again in %s", SiteSilent)
	}
	return fmt.Errorf("silent since %s", h.Heard.Local().Format(time.DateTime))
}

// siteHost is how to join the agent of a host of a site.
func (d Dialler) siteHost(ctx context.Context, n host.Name) (host.Endpoint, error) {
	if d.Sites == nil {
		return host.Endpoint{}, fmt.Errorf("reach %s: this command cannot reach hosts of sites", n)
	}
	dir, err := d.siteDir(n.Site)
	if err != nil {
		return host.Endpoint{}, err
	}
	m := d.Sites.at(dir)
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(n.Host)
	if m.link == nil || i < 0 {
		if err := d.join(ctx, dir, m); err != nil {
			return host.Endpoint{}, err
		}
		i = m.find(n.Host)
	}
	if i < 0 {
		return host.Endpoint{}, failure.Advise(failure.Of(failure.Usage, "no host %s in the site", n.Host), failure.ListSite)
	}
	link, id := m.link, m.hosts[i].ID
	return host.Endpoint{Name: n.Host, Join: func(ctx context.Context) (host.Stream, error) {
		return link.Open(ctx, id, n.Host)
	}}, nil
}

func (m *member) find(name string) int {
	return slices.IndexFunc(m.hosts, func(h desk.Status) bool { return h.Name == name })
}

// join asks the site's desk for its hosts and, the first time, for a place at its brokers.
func (d Dialler) join(ctx context.Context, dir string, m *member) error {
	c, err := desk.Connect(ctx, dir)
	if err != nil {
		return failure.As(failure.Nothing, err)
	}
	defer c.Close() // it has answered
	if m.hosts, err = c.Hosts(ctx); err != nil || m.link != nil {
		return err
	}
	cred, err := c.Controller(ctx, d.who(), false)
	if err != nil {
		return err
	}
	now := d.Now
	if now == nil {
		now = time.Now
	}
	m.link, err = fleet.Dial(cred, host.Reads, now)
	return err
}

// who is who asks, for journals and logs: the user, and whom they were before sudo.
func (d Dialler) who() string { return Who(d.Getenv) }

// Who is the user of this process as journals and logs of other hosts have it.
func Who(getenv func(string) string) string {
	user := fmt.Sprintf("uid %d", os.Geteuid())
	for _, key := range []string{"SUDO_USER", "USER", "LOGNAME"} {
		if v := getenv(key); v != "" && len(v) <= 64 {
			user = v
			break
		}
	}
	if name, err := os.Hostname(); err == nil {
		user += " at " + name
	}
	return user
}
