package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// How long a client may take to send its request, and how long open pages may take to end.
const (
	headerTime = 5 * time.Second
	idleTime   = time.Minute
	endTime    = 2 * time.Second
	mostHeader = 16 << 10
)

// ours passes on what the server logs but for what strangers say that is no TLS, which is no error of ours.
type ours struct{ to io.Writer }

func (o ours) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		return len(line), nil
	}
	return o.to.Write(line)
}

// Serve answers those who have access on a listener, which it closes, until ctx ends.
func (v *View) Serve(ctx context.Context, ln net.Listener, access Access) error {
	handler, err := v.Handler(access)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	// The requests end with ctx: a page's stream has no end of its own.
	s := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, MaxHeaderBytes: mostHeader, IdleTimeout: idleTime,
		ErrorLog: log.New(ours{os.Stderr}, "", log.LstdFlags), BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() {
		if access.open() {
			ended <- s.Serve(ln)
			return
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*access.cert}}
		ended <- s.ServeTLS(ln, "", "")
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if s.Shutdown(end) != nil { // a client that does not let go
		err = s.Close()
	}
	<-ended
	return err
}
