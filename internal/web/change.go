package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"time"
)

// Subject is what a panel or a plan is asked for.
type Subject struct {
	Host    string `json:"host"`
	Profile string `json:"profile"` // empty: what fits the host
	To      string `json:"to"`      // the other end; empty: none
	Via     string `json:"via"`     // its data address; empty: what its name leads to
	// Persist asks for files too by which the values outlive a restart.
	Persist bool `json:"persist"`
}

// Choices are what may be asked for.
type Choices struct {
	Hosts    []string  `json:"hosts"`
	Profiles []Purpose `json:"profiles"`
	// The bounds on the time in which a change has to be confirmed, in seconds.
	Least float64 `json:"least_s"`
	Most  float64 `json:"most_s"`
}

// Purpose is a profile.
type Purpose struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Planned is a plan that was made, and the name by which it can be applied.
type Planned struct {
	Plan string `json:"plan"`
	Doc  any    `json:"doc"` // as linerate tune plan --json prints it
}

// Pending is a plan that waits to be confirmed, or what became of one that nobody confirmed.
type Pending struct {
	Host string `json:"host"`
	Plan string `json:"plan"`
	By   string `json:"by"`
	// Left is for how many seconds it waits still, rather less than more; 0: its time is over.
	Left  float64 `json:"left_s"`
	Waits bool    `json:"waits"` // it can be confirmed
	Says  string  `json:"says"`  // what is wrong, or became of it
	// Persist: with its confirmation the files are written that were shown.
	Persist bool `json:"persist"`
}

// Changer changes hosts as linerate tune does. Each document is what the command prints as JSON. A
// context ends what is only looked at; what changes a host goes on when the page is closed.
type Changer interface {
	Choices() (Choices, error)
	Panel(ctx context.Context, s Subject) (any, error)
	Plan(ctx context.Context, s Subject) (Planned, error)
	// Apply carries out a plan that was shown, and no other. The host undoes it unless it is
	// confirmed within that time; from is who asked.
	Apply(plan string, within time.Duration, from string) (any, error)
	Confirm(host, plan string) (any, error)
	// Undo takes back a plan; an empty one: all that linerate changed.
	Undo(host, plan string) (any, error)
	History(ctx context.Context, host string) (any, error)
	Pending() []Pending
}

// AllowChange has the page offer changes to who sends the token, which has to be guessed by nobody.
// It is called before the view is served.
func (v *View) AllowChange(c Changer, token string) { v.changer, v.changeToken = c, token }

func (v *View) pending() []Pending {
	if v.changer == nil {
		return nil
	}
	return v.changer.Pending()
}

// changeHeader carries the token. A page of another origin cannot send such a header, and no
// browser sends it by itself, as it does with cookies, which every port of a host gets.
const changeHeader = "Linerate-Change-Token"

// mostAsk is the longest body of a request.
const mostAsk = 16 << 10

// request is the body of one.
type request struct {
	Subject
	Plan   string  `json:"plan"`
	Within float64 `json:"within_s"`
}

// errAsk is of a request that has no meaning.
var errAsk = errors.New("that cannot be asked for")

// readOnly is what a page without a changer answers.
const readOnly = "this page is read-only: linerate serve --allow-change offers changes"

// answerChange answers POST /change/WHAT.
func (v *View) answerChange(w http.ResponseWriter, r *http.Request) {
	switch kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case v.changer == nil:
		http.Error(w, readOnly, http.StatusForbidden)
		return
	case !same(r.Header.Get(changeHeader), v.changeToken):
		http.Error(w, "changes need the token that linerate serve printed when it began: open the address that it printed", http.StatusUnauthorized)
		return
	case err != nil || kind != "application/json":
		http.Error(w, "send JSON, as application/json", http.StatusUnsupportedMediaType)
		return
	}
	var q request
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostAsk))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		http.Error(w, "read request: "+err.Error(), http.StatusBadRequest)
		return
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		http.Error(w, "read request: more than one JSON value", http.StatusBadRequest)
		return
	}
	doc, err := v.change(r, q)
	if errors.Is(err, errAsk) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	var b []byte
	if err == nil {
		b, err = json.Marshal(doc)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	send(w, "application/json", append(b, '\n'))
}

// change does what is asked for.
func (v *View) change(r *http.Request, q request) (any, error) {
	switch r.PathValue("what") {
	case "choices":
		return v.changer.Choices()
	case "panel":
		return v.changer.Panel(r.Context(), q.Subject)
	case "plan":
		return v.changer.Plan(r.Context(), q.Subject)
	case "apply":
		from, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			from = "an address that is not known"
		}
		return v.changer.Apply(q.Plan, time.Duration(q.Within*float64(time.Second)), from)
	case "confirm":
		return v.changer.Confirm(q.Host, q.Plan)
	case "undo":
		return v.changer.Undo(q.Host, q.Plan)
	case "history":
		return v.changer.History(r.Context(), q.Host)
	}
	return nil, fmt.Errorf("%w: %q", errAsk, r.PathValue("what"))
}

// changePage answers GET /change.
func (v *View) changePage(w http.ResponseWriter, _ *http.Request) {
	page, err := files.ReadFile("change.html")
	switch {
	case v.changer == nil:
		http.Error(w, readOnly, http.StatusForbidden)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		send(w, "text/html; charset=utf-8", page)
	}
}

// pendings answers GET /change/pending.
func (v *View) pendings(w http.ResponseWriter, _ *http.Request) {
	all := v.pending()
	if all == nil {
		all = []Pending{}
	}
	b, err := json.Marshal(all)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, "application/json", append(b, '\n'))
}
