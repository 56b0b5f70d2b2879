package kernel

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// cifsStats as Linux 6.1 prints them, of two servers; only the first is counted
// in time.
const cifsStats = `Resources in use
CIFS Session: 2
Share (unique mount targets): 3
Operations (MIDs): 0

0 session 0 share reconnects
Total vfs operations: 1040 maximum at one time: 3

Max requests in flight: 9
Total time spent processing by command. Time units are jiffies (250 per second)
  SMB3 CMD	Number	Total Time	Fastest	Slowest
  --------	------	----------	-------	-------
  0		1	28		28	28
  8		400	1000		0	12
  9		10	50		1	9

1) \\10.60.0.100\share
SMBs: 422
Bytes read: 104857600  Bytes written: 655360
Open files: 1 total (local), 1 open on server
Reads: 100 total 0 failed
Writes: 10 total 0 failed

2) \\10.60.0.100\other
SMBs: 422
Bytes read: 314572800  Bytes written: 0
Reads: 300 total 0 failed
Writes: 0 total 0 failed

Max requests in flight: 1

1) \\nas2\Media
SMBs: 4
Bytes read: 1  Bytes written: 2
Reads: 3 total 0 failed
Writes: 4 total 0 failed
`

func TestParseCIFSStats(t *testing.T) {
	got, err := ParseCIFSStats([]byte(cifsStats), "//10.60.0.100/Share")
	if err != nil {
		t.Fatal(err)
	}
	want := model.RequestCount{Of: model.OfSMB, Name: "//10.60.0.100/share",
		Read:  model.RequestOp{Ops: 100, Bytes: 104857600, Time: time.Second}, // a quarter of 1000 jiffies of 4 ms
		Write: model.RequestOp{Ops: 10, Bytes: 655360, Time: 200 * time.Millisecond}}
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	for share, says := range map[string]string{`\\nas2\media`: "CONFIG_CIFS_STATS2", "//nas3/x": "no share //nas3/x"} {
		if _, err := ParseCIFSStats([]byte(cifsStats), share); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", share, err)
		}
	}
	for _, bad := range []string{"(0 per second)", "(x per second)"} {
		if _, err := ParseCIFSStats([]byte(strings.Replace(cifsStats, "(250 per second)", bad, 1)), "//10.60.0.100/share"); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

const diskstats = `   8       0 sda 5320 12 1048576 9000 77 3 4096 120 2 4000 9120 0 0 0 0 5 6
   8      16 sdb 1 0 8 1 0 0 0 0 0 1 1
   7       0 loop0 -1 0 0 0 0 0 0 0 0 0 0
`

func TestParseDiskstats(t *testing.T) {
	got, err := ParseDiskstats([]byte(diskstats), "sda")
	if err != nil {
		t.Fatal(err)
	}
	want := model.RequestCount{Of: model.OfDisk, Name: "sda",
		Read:  model.RequestOp{Ops: 5320, Bytes: 512 << 20, Time: 9 * time.Second},
		Write: model.RequestOp{Ops: 77, Bytes: 2 << 20, Time: 120 * time.Millisecond}}
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	for _, device := range []string{"sd", "sdz", "loop0", ""} {
		if got, err := ParseDiskstats([]byte(diskstats), device); err == nil {
			t.Errorf("%q gave %+v", device, got)
		}
	}
}

func TestParseDiskOf(t *testing.T) {
	got, err := ParseDiskOf([]byte(diskstats), "8:0")
	if err != nil || got.Name != "sda" || got.Read.Bytes != 512<<20 || got.Busy <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, number := range []string{"8", "0:0", "8:00", ""} {
		if got, err := ParseDiskOf([]byte(diskstats), number); err == nil {
			t.Errorf("%q gave %+v", number, got)
		}
	}
}

func FuzzParseRequests(f *testing.F) {
	f.Add([]byte(cifsStats))
	f.Add([]byte(diskstats))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte, string) (*model.RequestCount, error){ParseCIFSStats, ParseDiskstats} {
			for _, name := range []string{"//10.60.0.100/share", "sda"} {
				if c, err := parse(b, name); err == nil && (c == nil || c.Read.Time < 0 || c.Write.Time < 0) {
					t.Errorf("%q gave %+v", name, c)
				}
			}
		}
		if d, err := ParseDiskOf(b, "8:0"); err == nil && (d.Busy < 0 || d.Read.Bytes < 0 || d.Write.Bytes < 0) {
			t.Errorf("gave %+v", d)
		}
	})
}
