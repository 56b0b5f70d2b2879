package setter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

const smbConf = `# Office filer
workgroup = OLD
[global]
   workgroup = OFFICE
	Server Multi Channel  Support =  No  
; socket options = SO_RCVBUF=8192

[media]
   path = /tank/media
   socket options = TCP_CORK

[homes]
   browseable = no
`

func sambaHost(t *testing.T, conf string) (*settertest.Tree, *[]string, setter.Samba) {
	tree := settertest.NewTree(t, map[string]string{"/etc/samba/smb.conf": conf, "/proc/9/comm": "smbd\n", "/proc/uptime": "1\n"})
	var calls []string
	run := func(_ context.Context, argv ...string) ([]byte, error) {
		calls = append(calls, strings.Join(argv, " "))
		return nil, nil
	}
	return tree, &calls, setter.Samba{Tree: tree, Run: run}
}

func TestSambaConforms(t *testing.T) {
	for name, c := range map[string]settertest.Case{
		"multichannel":   {A: "No", B: "yes", Messy: " No ", Bad: []string{"maybe", "yes no", "2"}},
		"socket_options": {A: "unset", B: "TCP_NODELAY IPTOS_LOWDELAY", Messy: "unset ", Bad: []string{"a;b", "TCP_NODELAY\nroot preexec = /bin/sh", "%m", "tcp_nodelay"}},
		"aio_sendfile":   {A: "aio_read_size=unset use_sendfile=unset", B: "aio_read_size=1 use_sendfile=no", Messy: "use_sendfile=unset aio_read_size=unset", Bad: []string{"aio_read_size=-1", "sendfile=yes", "use_sendfile=2"}},
		"signing":        {A: "server_signing=unset", B: "server_signing=mandatory", Messy: "server_signing=unset\n", Bad: []string{"mandatory", "server_signing=off", "smb_encrypt=yes"}},
	} {
		tree, calls, s := sambaHost(t, smbConf)
		c.Setter, c.At = s, setter.Place{Setting: "linux.samba." + name}
		c.BadAt = []setter.Place{{Setting: "linux.samba.root_preexec"}, {Setting: c.At.Setting, Target: "if:lo"}, {Setting: "linux.samba."}}
		c.Rest = func() string { return tree.All() }
		c.Refuse, c.Vanish = tree.Refuse, tree.VanishAt("/etc/samba")
		t.Run(name, func(t *testing.T) { settertest.Conform(t, c) })
		if len(*calls) == 0 || (*calls)[0] != "smbcontrol smbd reload-config" {
			t.Errorf("%s: smbd was told %q", name, *calls)
		}
	}
}

// The file comes back byte for byte, by linerate and by the shell, and what is
// between differs in the lines of that option alone.
func TestSambaKeepsEveryOtherByte(t *testing.T) {
	for _, conf := range []string{smbConf, "", "[global]\n", "[media]\npath = /x\n", "workgroup = X\n", "[global]\n\n\n[homes]\n", "[global]\r\n\tserver multi channel support = yes\r\n",
		"[global]\n#taken out by linerate: \tserver multi channel support = no\n\n[homes]\n", "[global]\n#taken out by linerate: \tServer Multi Channel Support=  yes \n"} {
		for _, v := range []string{"yes", "unset"} {
			at := setter.Place{Setting: "linux.samba.multichannel"}
			tree, _, s := sambaHost(t, conf)
			before := tree.All()
			was, err := s.Read(context.Background(), at, "")
			if err != nil {
				t.Fatal(err)
			}
			sh, err := s.Shell(at, was)
			if err != nil {
				t.Fatal(err)
			}
			// No smbd of this machine is told anything.
			quiet := func(value string) { runShell(t, "/bin", "pidof() { return 1; }; set -fu; value="+value+"; "+sh.Write) }
			var between [2]string
			for i, write := range []func(string){func(v string) {
				if err := s.Write(context.Background(), at, v); err != nil {
					t.Fatal(err)
				}
			}, quiet} {
				write(v)
				between[i] = tree.All()
				if got := runShell(t, "/bin", "set -fu; "+sh.Read); got != v {
					t.Errorf("%q: wrote %s, the shell reads %q", conf, v, got)
				}
				if got, err := s.Read(context.Background(), at, ""); got != v || err != nil {
					t.Errorf("%q: wrote %s, read %q, %v", conf, v, got, err)
				}
				write(was)
				if after := tree.All(); after != before {
					t.Errorf("%q: %s and back by way %d:\n%s", conf, v, i, after)
				}
			}
			if between[0] != between[1] {
				t.Errorf("%q to %s: the shell makes\n%s\nlinerate makes\n%s", conf, v, between[1], between[0])
			}
		}
	}
}

func TestSambaThatIsLeftAlone(t *testing.T) {
	at := setter.Place{Setting: "linux.samba.multichannel"}
	for _, conf := range []string{
		"[global]\ninclude = registry\n", "[global]\nconfig backend = registry\n", "[global]\ninclude = /etc/samba/more.conf\n", "[global]\nworkgroup = \\\n X\n",
	} {
		tree, _, s := sambaHost(t, conf)
		before := tree.All()
		err := s.Write(context.Background(), at, "yes")
		if !errors.Is(err, setter.ErrUnsupported) || tree.All() != before {
			t.Errorf("%q: %v", conf, err)
		}
	}
	// An smbd that does not answer is an error: the value is not in force.
	tree, _, _ := sambaHost(t, smbConf)
	deaf := setter.Samba{Tree: tree, Run: func(context.Context, ...string) ([]byte, error) { return nil, fmt.Errorf("no answer") }}
	if err := deaf.Write(context.Background(), at, "yes"); err == nil || !strings.Contains(err.Error(), "did not read") {
		t.Error(err)
	}
}
