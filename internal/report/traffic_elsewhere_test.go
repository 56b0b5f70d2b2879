package report

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// What a system does not show of its connections is not drawn as if it were 0.
func TestFiguresOfOtherSystems(t *testing.T) {
	shown := func(from model.ConnSource) end {
		e := end{host: "winfiler"}
		for i := range 4 {
			at := time.Duration(i) * time.Second
			e.samples = append(e.samples, model.Sample{At: at, Conns: []model.Conn{{
				From: from, BytesAcked: int64(i) << 20, Busy: at / 2, RwndLimited: at / 4, SourceLimited: at / 2,
			}}})
		}
		return e
	}
	fig, ok := sharesFigure(shown(model.FromEstats), 0)
	said := fig.Note
	for _, l := range fig.Legend {
		said += " " + l.Name + " " + l.Value
	}
	if !ok || strings.Contains(said, "tcp_info") || strings.Contains(said, "by the send buffer") || !strings.Contains(said, "no room in the send buffer 50%") {
		t.Errorf("Windows: %v, %s", ok, said)
	}
	mac := shown(model.FromNettop)
	if _, ok := sharesFigure(mac, 0); ok {
		t.Error("macOS: shares")
	}
	if _, ok := retransFigure(mac, 0); ok {
		t.Error("macOS: segments")
	}
	if _, ok := queueFigure(mac, end{}, 0); ok {
		t.Error("macOS: queues")
	}
}
