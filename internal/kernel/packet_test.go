package kernel

import "testing"

func TestVnetHeaderRoundTrip(t *testing.T) {
	want := VnetHeader{Flags: 1, GSOType: VnetGSOTCPv4 | VnetGSOECN, HeaderLen: 66, GSOSize: 1448, CsumStart: 34, CsumOffset: 16}
	b := make([]byte, VnetHeaderLen)
	want.Put(b)
	if got, ok := ParseVnet(b); !ok || got != want {
		t.Errorf("%+v", got)
	}
	if _, ok := ParseVnet(b[:9]); ok {
		t.Error("nine bytes are a header")
	}
}
