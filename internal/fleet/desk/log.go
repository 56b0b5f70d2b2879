package desk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Line is one of the site's log.
type Line struct {
	Time  time.Time         `json:"time"`  // by the desk's clock
	Event string            `json:"event"` // token, enrolling, enrolled, refused, revoking, revoked, failed, controller, started, request, missed, ended
	Host  string            `json:"host,omitempty"`
	ID    string            `json:"id,omitempty"` // of the host
	At    time.Time         `json:"at,omitzero"`  // by the host's clock
	About map[string]string `json:"about,omitempty"`
}

// siteLog only grows: a line is on the disk before what it tells of is done or answered.
type siteLog struct {
	path string
	f    *os.File
	err  error // of the last line
}

func openLog(path string) (*siteLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of the site: %w", err)
	}
	// A line that a crash cut off gets its end, so that the next one stands by itself.
	if i, err := f.Stat(); err == nil && i.Size() > 0 {
		last := make([]byte, 1)
		_, err := f.ReadAt(last, i.Size()-1)
		if err == nil && last[0] != '\n' {
			_, err = f.Write([]byte("\n"))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open log of the site: %w", err), f.Close())
		}
	}
	return &siteLog{path: path, f: f}, nil
}

func (l *siteLog) add(line Line) {
	b, err := json.Marshal(line)
	if err == nil {
		_, err = l.f.Write(append(b, '\n'))
	}
	if err == nil {
		err = l.f.Sync()
	}
	l.err = err
	if err != nil {
		l.err = fmt.Errorf("write %s: %w; what happens is not logged until that is mended", l.path, err)
	}
}

func (l *siteLog) close() error { return l.f.Close() }

// last reads the last lines, at most so many. A line that was cut off by a crash is shown as
// such.
func (l *siteLog) last(most int) ([]Line, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("read log of the site: %w", err)
	}
	defer f.Close() // only read
	var out []Line
	r := bufio.NewReader(f)
	for {
		text, err := r.ReadBytes('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			var line Line
			if json.Unmarshal(text, &line) != nil {
				line = Line{Event: "unreadable", About: map[string]string{"bytes": fmt.Sprint(len(text))}}
			}
			if out = append(out, line); len(out) > 2*most {
				out = append(out[:0], out[len(out)-most:]...)
			}
		}
		if err != nil {
			return out[max(0, len(out)-most):], nil
		}
	}
}
