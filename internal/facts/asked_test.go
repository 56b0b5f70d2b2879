package facts

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func TestParseFstab(t *testing.T) {
	got := parseFstab(`# nas:/a /old nfs nconnect=16
nas:/a   /mnt/a  nfs   rw,nconnect=8,hard 0 0
nas:/b   /mnt/b\040c nfs4 nconnect=x,rw
//n/s    /mnt/s  cifs  credentials=/root/c,multichannel,max_channels=4 0 0
//n/t    /mnt/t  cifs  multichannel
//n/u    /mnt/u  cifs  max_channels=3,multichannel
/dev/sda1 / ext4 nconnect=4 0 1
nas:/c   /mnt/c
`)
	want := map[string]model.Fact[int]{"/mnt/a": model.Known(8), "/mnt/s": model.Known(4), "/mnt/t": model.Known(2), "/mnt/u": model.Known(3)}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// configSpace is a device's with one capability before the PCIe one.
func configSpace(size int, caps, control uint16) []byte {
	b := make([]byte, size)
	binary.LittleEndian.PutUint16(b[pciStatus:], pciHasCaps)
	b[pciFirstCap] = 0x40
	if size > 0x60 {
		b[0x40], b[0x41] = 0x01, 0x50 // power management, next
		b[0x50], b[0x51] = pciCapExpress, 0x40
		binary.LittleEndian.PutUint32(b[0x50+pciDevCaps:], uint32(caps))
		binary.LittleEndian.PutUint16(b[0x50+pciDevControl:], control)
	}
	return b
}

func TestParsePayload(t *testing.T) {
	full := configSpace(256, 2, 1<<5|5<<12)
	want := model.PCIPayload{Payload: 256, PayloadMax: 512, ReadRequest: 4096}
	for name, b := range map[string][]byte{"plain": full, "recorded": []byte(hex.EncodeToString(full) + "\n")} {
		if got, err := parsePayload(b); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := parsePayload(configSpace(64, 0, 0)); !errors.Is(err, errOnlyRoot) {
		t.Errorf("an ordinary user's: %v", err)
	}
	loop := configSpace(256, 0, 0)
	loop[0x50] = 0x05
	for name, b := range map[string][]byte{"none": make([]byte, 256), "short": make([]byte, 10), "a list that goes round": loop, "reserved": configSpace(256, 7, 0)} {
		if got, err := parsePayload(b); err == nil || errors.Is(err, errOnlyRoot) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

const zfsAnswer = "tank\ttype\tfilesystem\t-\ntank\tsync\tstandard\tdefault\ntank\trecordsize\t131072\tdefault\ntank\tdedup\toff\tdefault\ntank\tsharenfs\toff\tdefault\n" +
	"tank/vm 1\ttype\tvolume\t-\ntank/vm 1\tvolblocksize\t16384\tdefault\ntank/vm 1\trecordsize\t-\t-\ntank/vm 1\tsync\talways\tlocal\ntank/vm 1\tsharenfs\t-\t-\n" +
	"tank/m\ttype\tfilesystem\t-\ntank/m\tsharenfs\trw=@10.0.0.0/8\tlocal\ntank/m\tprimarycache\tmetadata\tlocal\ntank/m\tcompression\tlz4\tlocal\ntank/m\tlogbias\tlatency\tdefault\n"

func TestParseDatasets(t *testing.T) {
	want := []model.ZFSDataset{
		{Name: "tank", Sync: "standard", Record: 128 * unit.KiB, Dedup: "off"},
		{Name: "tank/vm 1", Volume: true, Sync: "always", Record: 16 * unit.KiB},
		{Name: "tank/m", Shared: true, Cache: "metadata", Compression: "lz4", LogBias: "latency"},
	}
	if d := cmp.Diff(want, parseDatasets(zfsAnswer)); d != "" {
		t.Error(d)
	}
	if got := parseDatasets("no tabs here\n\t\n"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestParsePools(t *testing.T) {
	pools := parsePools("tank\tcapacity\t91\t-\ntank\tfragmentation\t34%\t-\ntank\tashift\t12\tlocal\ntank\tdedupratio\t1.00\t-\nold\tcapacity\t-\t-\nold\tdedupratio\tNaN\t-\n")
	addPoolDevices(pools, "tank\n\tmirror-0\n\t  sda\nlogs\n\tnvme0n1\nold\n\tsdb\n\tcache\n\t  sdc\n")
	tank, old := pools["tank"], pools["old"]
	if tank.Capacity != model.Known(91) || tank.Fragments != model.Known(34) || tank.Ashift != model.Known(12) || tank.Dedup != model.Known(1.0) || !tank.Log || tank.Cache {
		t.Errorf("%+v", tank)
	}
	if old.Capacity.State != model.Unsupported || old.Dedup.State == model.Present || old.Log || !old.Cache {
		t.Errorf("%+v", old)
	}
}

func FuzzParseZFS(f *testing.F) {
	f.Add(zfsAnswer, "tank\nlogs\n")
	f.Add("tank\tcapacity\t91\t-\n", "tank\n\tlogs\n")
	f.Fuzz(func(t *testing.T, properties, devices string) {
		for _, d := range parseDatasets(properties) {
			if d.Record < 0 {
				t.Errorf("%+v", d)
			}
		}
		pools := parsePools(properties)
		n := len(pools)
		addPoolDevices(pools, devices)
		if len(pools) != n {
			t.Errorf("pools came out of devices: %+v", pools)
		}
	})
}

func FuzzParseFstab(f *testing.F) {
	f.Add("nas:/a /mnt/a\\040b nfs nconnect=8 0 0\n")
	f.Fuzz(func(t *testing.T, s string) {
		for point, n := range parseFstab(s) {
			if n.Value <= 0 || strings.ContainsAny(point, " \t\n") && !strings.Contains(s, `\`) {
				t.Errorf("%q: %+v", point, n)
			}
		}
	})
}

func FuzzParsePayload(f *testing.F) {
	f.Add(configSpace(256, 2, 1<<5))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parsePayload(b); err == nil && (p.Payload < 128 || p.PayloadMax > 4096 || p.ReadRequest > 4096) {
			t.Errorf("%+v", p)
		}
	})
}
