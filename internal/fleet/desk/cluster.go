package desk

import (
	"fmt"
	"os"
	"path/filepath"

	"linerate/internal/fleet"
)

// clusterDir is where the files of a site's own brokers lie, in the site's directory.
const clusterDir = "nats"

// keyFile is the key of a broker's certificate.
const keyFile = "key.pem"

// Cluster is the site's own brokers, which an operator runs.
type Cluster struct{ d *Desk }

// Account implements Brokers.
func (c Cluster) Account(jwt string) error { return c.d.m.Push(jwt, c.d.now()) }

// Cluster writes what each of the site's own brokers is started with, where that is not there yet
// (a broker keeps its certificate), and returns the directory of all. What is there of an earlier
// set of brokers goes: the files of a cluster name each other.
func (d *Desk) Cluster() (dir string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.m.Cluster(d.book.revoked(), d.now())
	if err != nil {
		return "", err
	}
	dir = filepath.Join(d.dir, clusterDir)
	if d.elsewhere != nil {
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("write files of brokers: %w", err)
		}
	}
	for _, b := range all {
		if err := writeBroker(filepath.Join(dir, b.Name), b); err != nil {
			return "", fmt.Errorf("write files of broker %s: %w", b.Name, err)
		}
	}
	return dir, nil
}

func writeBroker(dir string, b fleet.BrokerFiles) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if i, err := os.Lstat(filepath.Join(dir, keyFile)); err == nil && i.Mode().IsRegular() {
		for _, name := range []string{keyFile, "cert.pem"} { // they belong together
			delete(b.Files, name)
		}
	}
	for name, data := range b.Files {
		at := filepath.Join(dir, name)
		err := os.WriteFile(at+".new", data, 0o600)
		if err == nil {
			err = os.Rename(at+".new", at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Told tells the site's own brokers whom they let in, as it is now: they may have been away when
// a host was revoked.
func (d *Desk) Told(c Cluster) error {
	d.mu.Lock()
	_, account, err := d.m.Claims(d.book.revoked(), d.now())
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return c.Account(account)
}

// Brokers are the site's own.
func (d *Desk) Brokers() Cluster { return Cluster{d} }
