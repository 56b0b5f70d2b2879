package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// moveMany reads the file in several places at once, each reader from the start
// of its own part on and through a descriptor of its own, so that the kernel
// reads ahead for each. All stop when the first has come to the end of its
// part: from then on fewer would be at work.
func (r *fileRead) moveMany(ctx context.Context, until time.Time) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	var total atomic.Int64
	n := r.spec.Readers
	errs := make([]error, n)
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			from, to := r.about.Size/int64(n)*int64(i), r.about.Size/int64(n)*int64(i+1)
			err := r.readPart(ctx, until, from, to, &total)
			if err != nil {
				errs[i] = err
			}
			cancel(errPartRead)
		})
	}
	wg.Wait()
	res := Result{Bytes: total.Load(), Window: time.Since(start), Early: time.Now().Before(until)}
	if cause := context.Cause(ctx); !errors.Is(cause, errPartRead) {
		errs = append(errs, cause)
	}
	err := errors.Join(errs...)
	if err == nil && res.Bytes == 0 {
		err = fmt.Errorf("read %s: it is empty now", r.about.File)
	}
	return res, err
}

var errPartRead = errors.New("a part was read")

// readPart reads [from, to) until a time, or until another one is through.
func (r *fileRead) readPart(ctx context.Context, until time.Time, from, to int64, total *atomic.Int64) (err error) {
	f, err := openQuietly(r.about.File)
	if err != nil {
		return fmt.Errorf("open the file to read: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if r.spec.Cache == Direct {
		if err := setDirect(f); err != nil {
			return fmt.Errorf("read %s past the page cache: %w", r.about.File, err)
		}
	}
	buf, err := newBuffer(len(r.buf))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, freeBuffer(buf)) }()
	return readBetween(ctx, f, buf, from-from%int64(len(buf)), to, until, total)
}

func readBetween(ctx context.Context, f *os.File, buf []byte, from, to int64, until time.Time, total *atomic.Int64) error {
	for at := from; at < to && ctx.Err() == nil && time.Now().Before(until); {
		n, err := f.ReadAt(buf, at)
		total.Add(int64(n))
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", f.Name(), err)
		}
	}
	return nil
}
