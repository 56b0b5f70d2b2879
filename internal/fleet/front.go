package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Word is what a host reports about itself: that it is alive, or an event.
type Word struct {
	ID    string            // of the host
	Agent string            // random, different after each start of the agent
	Seq   uint64            // counts from 1 for each kind and agent; a missing number was lost
	At    time.Time         // by the host's clock
	Event string            // "started", "live", "request", "ended"
	About map[string]string // of the event
}

// Hearing has the functions that a Front calls, one call at a time.
type Hearing struct {
	// Enter decides on a newcomer: it returns its credential, or an error that is sent to it.
	Enter func(Entry) (Credential, error)
	// Live and Happened take the reports of hosts: that they are alive, and events.
	Live, Happened func(Word)
	// Odd takes messages that are not authentic or not readable, for a log.
	Odd func(err error)
}

// Front is the desk's connection to the site's brokers: it receives from newcomers and all hosts.
type Front struct {
	m    *Material
	root *Keys
	nc   *nats.Conn
	h    Hearing
}

// Front connects as the site's desk, until Close.
func (m *Material) Front(h Hearing, more ...nats.Option) (*Front, error) {
	c, err := m.Issue(Desk, "desk", nil, time.Time{})
	if err != nil {
		return nil, err
	}
	f := &Front{m: m, h: h}
	if f.root, err = m.RootKeys(); err != nil {
		return nil, err
	}
	if f.nc, err = c.Connect("linerate desk", more...); err != nil {
		return nil, err
	}
	at := prefix + m.Site
	heard := make(chan *nats.Msg, 4096)
	for _, s := range []string{".enrol.*.ask", ".up.*.live", ".up.*.event"} {
		if _, err = f.nc.ChanSubscribe(at+s, heard); err != nil {
			break
		}
	}
	if err == nil {
		err = f.nc.Flush()
	}
	if err != nil {
		f.nc.Close()
		return nil, fmt.Errorf("listen for site %s: %w", m.Site, err)
	}
	gone := make(chan struct{})
	f.nc.SetClosedHandler(func(*nats.Conn) { close(gone) })
	go func() {
		for {
			select {
			case msg := <-heard:
				f.hear(msg)
			case <-gone:
				return
			}
		}
	}()
	return f, nil
}

// Close leaves the site.
func (f *Front) Close() { f.nc.Close() }

func (f *Front) hear(m *nats.Msg) {
	if rest, ok := strings.CutPrefix(m.Subject, prefix+f.m.Site+".enrol."); ok {
		token, _, _ := strings.Cut(rest, ".")
		if err := f.enter(token, m.Data); err != nil {
			f.h.Odd(fmt.Errorf("a newcomer with token %s: %w", printable(token), err))
		}
		return
	}
	_, id, stream, err := parseUp(m.Subject)
	if err != nil {
		f.h.Odd(err)
		return
	}
	w, err := f.word(m.Data, id, stream)
	switch {
	case err != nil:
		f.h.Odd(err)
	case stream == "live":
		f.h.Live(w)
	default:
		f.h.Happened(w)
	}
}

func (f *Front) word(msg []byte, id, stream string) (Word, error) {
	head, body, err := openSaid(msg, f.m.Site, id, stream)
	if err != nil {
		return Word{}, err
	}
	var e happened
	if err := strict(body, &e); err != nil {
		return Word{}, fmt.Errorf("host %s: read event: %s", id, printable(err.Error()))
	}
	w := Word{ID: id, Agent: printable(head.Agent), Seq: head.Seq, At: head.At, Event: printable(e.Event), About: map[string]string{}}
	for k, v := range e.About {
		if len(w.About) == maxAbout {
			break
		}
		w.About[printable(k)] = printable(v)
	}
	return w, nil
}

// maxAbout bounds what an event may say of itself.
const maxAbout = 16

// enter answers a newcomer. One that cannot prove that it has the token's key gets no answer.
func (f *Front) enter(token string, msg []byte) error {
	e, err := openEntry(msg, f.m.Site, token)
	if err != nil && (e.V <= 1 || len(e.Key) == 0) {
		return err
	}
	head := told{V: 1, Site: f.m.Site, To: e.ID()}
	var c Credential
	if err == nil {
		c, err = f.h.Enter(e)
	}
	var body []byte
	if err == nil {
		if len(c.Seed) > 0 {
			return errors.New("a credential with a secret is not sent")
		}
		body, err = json.Marshal(c)
	}
	if err != nil {
		head.Refused, body = true, []byte(err.Error())
	}
	head.Sum = sumOf(body)
	text, serr := seal(f.root, forSite, head, body)
	if serr == nil {
		serr = f.nc.Publish(prefix+f.m.Site+".enrol."+token+".answer", text)
	}
	return errors.Join(err, serr)
}
