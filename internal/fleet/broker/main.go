package broker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"linerate/internal/fleet"
)

// maxLine bounds a line that a broker is told: an account with some 10,000 revoked users.
const maxLine = 4 << 20

// Main is a broker as a process. It reads its task from the first line of in, takes orders from
// the next ones, and ends with in, or with ctx. The task has the key of its certificate, so that
// it comes by a pipe, and by no argument or file.
func Main(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	say := json.NewEncoder(out)
	b, err := first(lines)
	if err != nil {
		return errors.Join(err, say.Encode(fleet.BrokerSaid{Error: err.Error()}))
	}
	defer b.Close()
	if err := say.Encode(fleet.BrokerSaid{URL: b.URL()}); err != nil {
		return fmt.Errorf("tell where the broker listens: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.obey(lines, say) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func first(lines *bufio.Scanner) (*Broker, error) {
	if !lines.Scan() {
		return nil, errors.New("read task: there is none; linerate starts this program where it keeps a site")
	}
	var t fleet.BrokerTask
	if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
		return nil, fmt.Errorf("read task: %w", err)
	}
	return Start(t)
}

func (b *Broker) obey(lines *bufio.Scanner, say *json.Encoder) error {
	for lines.Scan() {
		var o fleet.BrokerOrder
		err := json.Unmarshal(lines.Bytes(), &o)
		if err == nil {
			err = b.Account(o.Account)
		}
		var said fleet.BrokerSaid
		if err != nil {
			said.Error = err.Error()
		}
		if err := say.Encode(said); err != nil {
			return fmt.Errorf("answer an order: %w", err)
		}
	}
	return lines.Err()
}
