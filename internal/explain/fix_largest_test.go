package explain

import (
	"math"
	"strconv"
	"testing"
	"time"

	"linerate/internal/model"
)

// A buffer that is the largest already is neither raised nor lowered: one connection has no more.
func TestTheLargestBufferIsNotChanged(t *testing.T) {
	s := &scene{ceiling: 400e9, minRTT: 60 * time.Millisecond}
	most := strconv.Itoa(math.MaxInt32)
	for from, want := range map[string]string{
		"4096\t131072\t" + most:  "",
		"4096 131072 33554432":   "4096 131072 2146435072",
		"4096 131072 2147000000": "",
		"4096 131072 2146435072": "",
		"4096 131072 1073741824": "4096 131072 2146435072",
	} {
		fix := larger("h", rmemSetting, from, raise(s, from), "")
		if fix.To != want || (fix.Kind == model.FixSetting) != (want != "") {
			t.Errorf("%q: %+v", from, fix)
		}
	}
	for from, want := range map[string]string{most: "", "1073741824": "", "212992": "1073741823"} {
		e := &End{Facts: &model.Facts{Settings: map[string]model.Fact[string]{rmemMaxSetting: model.Known(from)}}}
		if fix := allow(s, e, rmemMaxSetting); fix.To != want || (fix.Kind == model.FixSetting) != (want != "") {
			t.Errorf("rmem_max %s: %+v", from, fix)
		}
	}
}
