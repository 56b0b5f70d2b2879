package facts

import (
	"reflect"
	"strings"
	"testing"

	"linerate/internal/model"
)

func TestParseShares(t *testing.T) {
	samba := `
[global]
	path = /not/a/share
; path = /none
[Homes]
path = /home/%S
[Media]
	comment = films # path = /no
	Pa th = "/tank/media/"
[everyone]
	directory = /tank/\
all
[each]
	path = /tank/%U
[relative]
	path = tank
[empty]
[last]
path=/z`
	want := []model.Share{{Protocol: "smb", Name: "/Media", Path: "/tank/media"}, {Protocol: "smb", Name: "/everyone", Path: "/tank/all"}, {Protocol: "smb", Name: "/last", Path: "/z"}}
	if got := parseSamba(samba); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	ganesha := `# EXPORT { Path = /no; Pseudo = /no; }
NFS_CORE_PARAM { Bind_addr = 10.0.0.2; }
EXPORT {
	Export_Id = 1; Path = "/tank/data"; Pseudo = "/share";
	FSAL { Name = VFS; Path = /inner; }
	CLIENT { Clients = 10.0.0.0/8; }
}
EXPORT { Path=/tank/b;Pseudo=/b/;}
EXPORT { Path = /only; }
LOG { Path = /log; Pseudo = /log; }
EXPORT { Path = /cut; Pseudo = /cut;`
	want = []model.Share{{Protocol: "nfs", Name: "/share", Path: "/tank/data"}, {Protocol: "nfs", Name: "/b", Path: "/tank/b"}}
	if got := parseGanesha(ganesha); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestConfigOfAFileServer(t *testing.T) {
	for line, want := range map[string]string{
		"/usr/sbin/smbd": "/etc/samba/smb.conf",
		"smbd --foreground --configfile=/srv/a.conf": "/srv/a.conf",
		"smbd -s /srv/b.conf -D":                     "/srv/b.conf",
		"smbd -s b.conf":                             "/etc/samba/smb.conf",
		"smbd -s":                                    "/etc/samba/smb.conf",
	} {
		if got := fileServers()[0].config(strings.Fields(line)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// A path of a server in a namespace of its own is believed only where it is the same
// directory of the same file system here.
func TestSameDirectory(t *testing.T) {
	here := "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:40 / /run/lab rw - tmpfs x rw\n"
	for _, tc := range []struct {
		there string
		want  bool
	}{
		{here, true},
		{"9 8 8:1 / / rw - ext4 /dev/sda1 rw\n7 9 0:40 /disk /run/lab/disk rw - tmpfs x rw\n", true}, // bound below
		{"9 8 0:77 / / rw - overlay o rw\n", false},
		{"9 8 8:1 / / rw - ext4 /dev/sda1 rw\n7 9 0:41 / /run/lab rw - tmpfs x rw\n", false},
		{"", false},
	} {
		if got := sameDirectory(here, tc.there, "/run/lab/disk/share"); got != tc.want {
			t.Errorf("%q: %v", tc.there, got)
		}
	}
}

func FuzzParseShares(f *testing.F) {
	f.Add("[a]\npath=/b\n")
	f.Add(`EXPORT { Path = "/a"; Pseudo = '/b'; FSAL { } }`)
	f.Add("}}{{\"")
	f.Fuzz(func(t *testing.T, s string) {
		for _, sh := range append(parseSamba(s), parseGanesha(s)...) {
			if !strings.HasPrefix(sh.Path, "/") || !strings.HasPrefix(sh.Name, "/") || sh.Protocol == "" {
				t.Errorf("%+v", sh)
			}
		}
	})
}
