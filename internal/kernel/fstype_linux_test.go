package kernel

import "testing"

func TestOverNetwork(t *testing.T) {
	for magic, want := range map[int64]bool{
		0x6969: true, 0x517B: true, 0xFF534D42: true, int64(int32(-11317950)): true, 0xFE534D42: true, 0x65735546: true, 0x0BD00BD0: true,
		0xEF53: false, 0x58465342: false, 0x9123683E: false, 0x01021994: false, 0x794C7630: false, 0x2FC12FC1: false,
	} {
		if isOverNetwork(magic) != want {
			t.Errorf("type %#x: %v", magic, !want)
		}
	}
	if OverNetwork("/nonexistent") || StartsNoPrograms("relative/nonexistent") {
		t.Error("what is not there is told of")
	}
	if OverNetwork("/proc") {
		t.Error("/proc is said to come over the network")
	}
}
