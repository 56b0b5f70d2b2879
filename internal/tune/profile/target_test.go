package profile

import (
	"testing"

	"linerate/internal/model"
)

// A plan names a disk by what it is, however the user named it.
func TestDisksGoByWhatTheyAre(t *testing.T) {
	s := Subject{Facts: &model.Facts{Disks: []model.Disk{{Name: "sda", Device: "wwid:naa.600", Session: "session1"}, {Name: "sdb"}}}}
	for _, c := range []struct{ named, want, name string }{
		{"", "wwid:naa.600", "sda"}, {"sda", "wwid:naa.600", "sda"}, {"block:sda", "wwid:naa.600", "sda"}, {"wwid:naa.600", "wwid:naa.600", "wwid:naa.600"},
		{"sdb", "block:sdb", "sdb"}, {"ram0", "block:ram0", "ram0"}, {"at:pci0000:00/x", "at:pci0000:00/x", "at:pci0000:00/x"},
	} {
		got, err := s.targets("linux.block.scheduler", c.named)
		if err != nil || len(got) != 1 || got[0].id != c.want || got[0].name != c.name {
			t.Errorf("%q: %+v, %v, want %s", c.named, got, err, c.want)
		}
	}
}
