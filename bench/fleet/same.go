package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sync/errgroup"

	"linerate/bench/kit"
)

// same is one comparison: hosts that are network namespaces, each with a real sshd and a real agent,
// and a site over three brokers.
type same struct {
	n    int
	dir  string
	env  []string // of the controller
	pids []int    // of the processes that hold the namespaces
	end  []func()
}

// natsRole is the argument by which this program is a broker that an operator starts: an ordinary
// nats-server, with the configuration in its directory, until it is killed.
const natsRole = "nats"

func natsServer() error {
	o, err := server.ProcessConfigFile("nats-server.conf")
	if err != nil {
		return err
	}
	o.NoLog = true
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}

// compare looks at n hosts over ssh and as a site, with three brokers and with two, and prints
// whether the findings are the same. It runs as root in network and mount namespaces of its own.
func compare(ctx context.Context, n int) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "same")
	if err != nil {
		return err
	}
	x := &same{n: n, dir: dir}
	defer func() {
		for _, f := range slices.Backward(x.end) {
			f()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	for _, step := range []func(context.Context) error{x.build, x.network, x.sshds} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	kit.Head(os.Stdout, "how", "time", "hosts", "findings", "the same as over ssh")
	want, err := x.row("over ssh, each host by itself", nil, func() (findings, error) { return x.overSSH(ctx) })
	if err != nil {
		return err
	}
	brokers, err := x.site(ctx)
	if err != nil {
		return err
	}
	if _, err := x.row("check --site all, three brokers", want, func() (findings, error) { return x.overSite(ctx) }); err != nil {
		return err
	}
	if err := brokers[0].Kill(); err != nil {
		return err
	}
	_, err = x.row("check --site all, at once after a broker was killed", want, func() (findings, error) { return x.overSite(ctx) })
	if err == nil {
		_, err = x.row("and again", want, func() (findings, error) { return x.overSite(ctx) })
	}
	return err
}

// findings are what was found of each host.
type findings map[string][]string

// row prints one, and fails where it is not what it should be.
func (x *same) row(what string, want findings, do func() (findings, error)) (findings, error) {
	began := time.Now()
	got, err := do()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	n, equal := 0, 0
	for name, all := range got {
		n += len(all)
		if want == nil || slices.Equal(all, want[name]) {
			equal++
		} else {
			fmt.Fprintf(os.Stderr, "%s, %s: %v, want %v\n", what, name, all, want[name])
		}
	}
	says := "–"
	if want != nil {
		says = kit.Of(equal, x.n)
	}
	fmt.Printf("| %s | %.1f s | %d | %d | %s |\n", what, time.Since(began).Seconds(), len(got), n, says)
	if equal < x.n || len(got) != x.n {
		return got, fmt.Errorf("%s: %d of %d hosts give the same findings", what, equal, x.n)
	}
	return got, nil
}

func (x *same) path(name string) string { return filepath.Join(x.dir, name) }
func named(i int) string                { return fmt.Sprintf("h%02d", i) }
func address(i int) string              { return fmt.Sprintf("10.99.0.%d", i) }

// build makes the program, the keys, and an ssh that knows the hosts.
func (x *same) build(ctx context.Context) error {
	if err := kit.Do(ctx, "go", "build", "-o", x.path("linerate"), "./cmd/linerate"); err != nil {
		return err
	}
	// On its path each host finds the program as it would find an installed one, and none is copied.
	if err := errors.Join(os.Mkdir(x.path("tmp"), 0o700), os.Mkdir(x.path("installed"), 0o755), os.Symlink(x.path("linerate"), x.path("installed/linerate"))); err != nil {
		return err
	}
	for _, key := range []string{"host_key", "user_key"} {
		if err := kit.Do(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", x.path(key)); err != nil {
			return err
		}
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return err
	}
	conf := fmt.Sprintf("Host *\n  User root\n  IdentityFile %[1]s/user_key\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile /dev/null\n  StrictHostKeyChecking no\n  LogLevel ERROR\n", x.dir)
	if err := errors.Join(os.WriteFile(x.path("ssh_config"), []byte(conf), 0o600), os.Mkdir(x.path("bin"), 0o700)); err != nil {
		return err
	}
	x.env = append(os.Environ(), "PATH="+x.path("bin")+":"+os.Getenv("PATH"), "HOME="+x.dir, "XDG_STATE_HOME="+x.path("ctl"), "XDG_DATA_HOME="+x.path("ctl"), "USER=ada")
	return os.WriteFile(x.path("bin/ssh"), fmt.Appendf(nil, "#!/bin/sh\nexec %s -F %s \"$@\"\n", ssh, x.path("ssh_config")), 0o700)
}

// start starts a process that ends with this one.
func (x *same) start(ctx context.Context, said string, argv ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	f, err := os.Create(x.path(said + ".log"))
	if err != nil {
		return nil, err
	}
	defer f.Close() // the process has it
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	x.end = append(x.end, func() { _, _ = cmd.Process.Kill(), cmd.Wait() }) // it may have been killed
	return cmd, nil
}

// inside is a command in a host's namespaces.
func (x *same) inside(i int, argv ...string) []string {
	return append([]string{"nsenter", "-n", "-m", "-t", fmt.Sprint(x.pids[i-1])}, argv...)
}

// network makes the hosts, and a bridge to them here. Some have settings of their own, so that not
// all are alike.
func (x *same) network(ctx context.Context) error {
	const hold = "mount -t tmpfs none /var/lib && mount -t tmpfs none /run && mkdir -m 755 /run/sshd && echo ready && exec sleep 86400"
	for _, c := range []string{"link set lo up", "link add br0 type bridge", "link set br0 up", "addr add 10.99.0.254/24 dev br0"} {
		if err := kit.Do(ctx, append([]string{"ip"}, strings.Fields(c)...)...); err != nil {
			return err
		}
	}
	for i := 1; i <= x.n; i++ {
		cmd, err := x.start(ctx, named(i)+"-holds", "unshare", "-n", "-m", "sh", "-c", hold)
		if err != nil {
			return err
		}
		x.pids = append(x.pids, cmd.Process.Pid)
		if err := x.await(ctx, named(i)+"-holds", "ready"); err != nil {
			return err
		}
		set := "ip link set lo up && ip link set eth0 up && ip addr add " + address(i) + "/24 dev eth0"
		for _, odd := range []struct {
			of  int
			set string
		}{{2, "tcp_window_scaling"}, {3, "tcp_sack"}, {5, "tcp_moderate_rcvbuf"}} {
			if i%odd.of == 0 {
				set += " && echo 0 >/proc/sys/net/ipv4/" + odd.set
			}
		}
		v := fmt.Sprintf("v%d", i)
		for _, argv := range [][]string{
			{"ip", "link", "add", v, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(cmd.Process.Pid)},
			{"ip", "link", "set", v, "master", "br0", "up"},
			x.inside(i, "sh", "-c", set),
		} {
			if err := kit.Do(ctx, argv...); err != nil {
				return err
			}
		}
	}
	return nil
}

// await waits for a word in what a process has said.
func (x *same) await(ctx context.Context, said, word string) error {
	for ctx.Err() == nil {
		b, err := os.ReadFile(x.path(said + ".log"))
		if err != nil {
			return err
		}
		if bytes.Contains(b, []byte(word)) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

func (x *same) sshds(ctx context.Context) error {
	for i := 1; i <= x.n; i++ {
		conf := fmt.Sprintf("ListenAddress %s:22\nHostKey %[2]s/host_key\nAuthorizedKeysFile %[2]s/user_key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nSetEnv TMPDIR=%[2]s/tmp PATH=%[2]s/installed:/usr/sbin:/usr/bin:/sbin:/bin\n", address(i), x.dir)
		if err := os.WriteFile(x.path(named(i)+"-sshd"), []byte(conf), 0o600); err != nil {
			return err
		}
		if _, err := x.start(ctx, named(i)+"-sshd", x.inside(i, "/usr/sbin/sshd", "-D", "-e", "-f", x.path(named(i)+"-sshd"))...); err != nil {
			return err
		}
		if err := x.await(ctx, named(i)+"-sshd", "Server listening"); err != nil {
			return err
		}
	}
	return nil
}

// checked is what linerate check tells, as far as it is compared.
type checked struct {
	Hosts []struct {
		Name     string `json:"name"`
		Error    string `json:"error"`
		Findings []struct {
			Rule     string `json:"rule"`
			Severity string `json:"severity"`
			Title    string `json:"title"`
		} `json:"findings"`
	} `json:"hosts"`
}

// check runs linerate check; name is what a host is called here.
func (x *same) check(ctx context.Context, name func(string) string, args ...string) (findings, error) {
	cmd := exec.CommandContext(ctx, x.path("linerate"), append([]string{"check", "--json"}, args...)...)
	cmd.Env = x.env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var c checked
	if jerr := json.Unmarshal(out, &c); jerr != nil { // findings make its exit code, too
		return nil, fmt.Errorf("check %v: %w, %w: %s", args, err, jerr, said.String())
	}
	all := findings{}
	for _, h := range c.Hosts {
		if h.Error != "" {
			return nil, fmt.Errorf("%s: %s", h.Name, h.Error)
		}
		list := []string{}
		for _, f := range h.Findings {
			list = append(list, strings.Join([]string{f.Rule, f.Severity, strings.ReplaceAll(f.Title, h.Name, "HOST")}, " "))
		}
		slices.Sort(list)
		all[name(h.Name)] = list
	}
	return all, nil
}

func (x *same) overSSH(ctx context.Context) (findings, error) {
	each := make([]findings, x.n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := range each {
		group.Go(func() (err error) {
			each[i], err = x.check(ctx, func(string) string { return named(i + 1) }, address(i+1))
			return err
		})
	}
	err := group.Wait()
	all := findings{}
	for _, one := range each {
		maps.Copy(all, one)
	}
	return all, err
}

func (x *same) overSite(ctx context.Context) (findings, error) {
	return x.check(ctx, func(s string) string { return strings.TrimPrefix(s, "site:") }, "--site", "all")
}

// run runs linerate as the site's user.
func (x *same) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, x.path("linerate"), args...)
	cmd.Env = x.env
	return kit.Output(cmd)
}

// site keeps a site over three brokers, and enrols all hosts.
func (x *same) site(ctx context.Context) (brokers []*os.Process, err error) {
	var servers []string
	for port := 4222; port < 4225; port++ {
		servers = append(servers, fmt.Sprintf("nats://10.99.0.254:%d", port))
	}
	serve := exec.CommandContext(ctx, x.path("linerate"), "serve", "--nats", strings.Join(servers, ","), "--site", "lab")
	serve.Env, serve.SysProcAttr = x.env, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := serve.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := serve.Start(); err != nil {
		return nil, err
	}
	x.end = append(x.end, func() { _, _ = serve.Process.Kill(), serve.Wait() }) // its end is ours
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "each broker is started with") {
		fmt.Fprintln(os.Stderr, lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // what it says later is not of interest
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		name := strings.Replace(strings.TrimPrefix(s, "nats://"), ":", "-", 1)
		cmd, err := x.start(ctx, name, "sh", "-c", `cd "$1" && exec "$2" `+natsRole, "sh", x.path("ctl/linerate-sites/lab/nats/"+name), self)
		if err != nil {
			return nil, err
		}
		brokers = append(brokers, cmd.Process)
	}
	for ctx.Err() == nil {
		if _, err := x.run(ctx, "agent", "list"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	group, all := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i := 1; i <= x.n; i++ {
		group.Go(func() error { return x.enrol(all, i) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i := 1; i <= x.n; i++ {
		env := []string{"env", "XDG_STATE_HOME=" + x.path(named(i)), "HOME=" + x.dir, x.path("linerate"), "agent", "run"}
		if _, err := x.start(ctx, named(i)+"-agent", x.inside(i, env...)...); err != nil {
			return nil, err
		}
		if err := x.await(ctx, named(i)+"-agent", "connected to site"); err != nil {
			return nil, err
		}
	}
	return brokers, nil
}

func (x *same) enrol(ctx context.Context, i int) error {
	token, err := x.run(ctx, "agent", "token", "--name", named(i))
	if err != nil {
		return err
	}
	argv := x.inside(i, "env", "XDG_STATE_HOME="+x.path(named(i)), "HOME="+x.dir, x.path("linerate"), "agent", "enrol")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(token)
	_, err = kit.Output(cmd)
	return err
}
