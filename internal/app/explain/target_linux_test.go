package explain

import (
	"context"
	"strings"
	"testing"

	"linerate/internal/failure"
)

// A path that is not there is not called a local one, which it would be without the typing error.
func TestPathThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	if _, err := mountTarget(context.Background(), dir+"/nas"); err == nil || failure.KindOf(err) == failure.Nothing || !strings.Contains(err.Error(), "no such path") {
		t.Errorf("%v, kind %v", err, failure.KindOf(err))
	}
	if _, err := mountTarget(context.Background(), dir); failure.KindOf(err) != failure.Nothing || !strings.Contains(err.Error(), "local file system") {
		t.Errorf("of a directory that is there: %v", err)
	}
}
