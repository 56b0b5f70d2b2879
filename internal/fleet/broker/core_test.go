package broker

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"linerate/internal/fleet"
)

// Brokers are core NATS alone, ours and the site's own: nothing keeps or forwards what goes through
// them, and nobody connects without TLS.
func TestBrokersAreCoreNATSAlone(t *testing.T) {
	m, err := fleet.NewMaterial("lab", []string{"nats://127.0.0.1:4222", "nats://127.0.0.2:4222", "nats://127.0.0.3:4222"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, m, -1)
	defer b.Close()
	if v, err := b.s.Varz(nil); err != nil || b.s.JetStreamEnabled() || v.LeafNode.Port != 0 || v.Gateway.Name != "" || v.Websocket.Port != 0 || v.MQTT.Port != 0 || v.HTTPPort != 0 || !v.TLSRequired {
		t.Error("the embedded broker is more than core NATS over TLS")
	}
	files, err := m.Cluster(nil, time.Now())
	if err != nil || len(files) != 3 {
		t.Fatalf("%d brokers, %v", len(files), err)
	}
	for _, f := range files {
		dir := filepath.Join(t.TempDir(), f.Name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range f.Files {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(dir)
		o, err := server.ProcessConfigFile("nats-server.conf")
		if err != nil {
			t.Fatal(err)
		}
		if o.JetStream || o.LeafNode.Port != 0 || o.Gateway.Name != "" || o.Websocket.Port != 0 || o.MQTT.Port != 0 || o.HTTPPort != 0 {
			t.Errorf("%s is more than core NATS", f.Name)
		}
		if o.TLSConfig == nil || o.Cluster.TLSConfig == nil || len(o.TrustedOperators) != 1 || len(o.Users)+len(o.Nkeys) != 0 || o.Username != "" {
			t.Errorf("%s lets in whom the site's operator did not", f.Name)
		}
	}
}
