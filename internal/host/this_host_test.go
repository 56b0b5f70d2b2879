package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// A real sh of this host executes the script, and what it prints comes back as it is.
func TestThisHostIsAskedByItsOwnShell(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("needs /bin/sh: ", err)
	}
	out, err := ThisHost{}.Ask(context.Background(), Sh, "echo one; printf 'two'", 100)
	if err != nil || string(out) != "one\ntwo" {
		t.Errorf("%q, %v", out, err)
	}
	for script, want := range map[string]string{
		":":                             "printed nothing and reported success",
		"echo no such disk >&2; exit 3": "no such disk",
		"head -c 500 /dev/zero":         errTalkative.Error(),
	} {
		if _, err := (ThisHost{}).Ask(context.Background(), Sh, script, 100); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

// What a shell does that is not as it should be is told; runner is that shell.
func TestAShellThatIsNoneIsTold(t *testing.T) {
	type runner = func(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error
	says := func(out, errs string, err error) runner {
		return func(_ context.Context, _ []string, _ io.Reader, stdout, stderr io.Writer) error {
			fmt.Fprint(stderr, errs)
			_, werr := io.WriteString(stdout, out)
			return errors.Join(err, werr)
		}
	}
	for _, c := range []struct {
		run  runner
		want string
	}{
		{says("", "", nil), "printed nothing and reported success"},
		{says("\r\n", "", nil), "printed nothing and reported success"},
		{says("linerate-refused version 2.0\r\n", "", nil), "version 2.0, and 5.1 is needed"},
		{says("linerate-refused language ConstrainedLanguage\r\n", "", nil), "language mode is ConstrainedLanguage"},
		{says("", "not \x1b[31mfound\n", errors.New("exit status 1")), "not  [31mfound"},
		{says(strings.Repeat("a", 101), "", nil), errTalkative.Error()},
	} {
		_, err := ThisHost{GOOS: "windows", Run: c.run}.Ask(context.Background(), PowerShell, "'x'", 100)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "ask this host's powershell: ") {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// PowerShell is started as over ssh, by a command line of the same words.
func TestPowerShellHereIsCalledAsOverSSH(t *testing.T) {
	run := func(_ context.Context, argv []string, stdin io.Reader, stdout, _ io.Writer) error {
		if got := "powershell " + strings.Join(argv[1:], " "); got != powershellCommand() {
			t.Errorf("%s", got)
		}
		_, err := io.Copy(stdout, stdin)
		return err
	}
	if out, err := (ThisHost{Run: run}).Ask(context.Background(), PowerShell, "'x'", 100); err != nil || string(out) != "'x'" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestAShellThatHangsEndsWithItsContext(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("needs /bin/sh: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := (ThisHost{}).Ask(ctx, Sh, "exec sleep 600", 100); err == nil {
		t.Error("no error")
	}
}
