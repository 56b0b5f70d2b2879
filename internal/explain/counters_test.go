package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A counter that is read and not listed would be 0 in every view.
func TestCountersAreAllThatAreRead(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"((?:Ip|IpExt|Icmp|Tcp|TcpExt|Udp|MPTcpExt)\.[A-Za-z0-9]+)"`)
	read := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			read[m[1]]++
			if !slices.Contains(Counters(), m[1]) {
				t.Errorf("%s reads %s, which Counters does not have", file, m[1])
			}
		}
	}
	for _, name := range Counters() {
		if read[name] < 2 { // once is where it is listed
			t.Errorf("nothing reads %s", name)
		}
	}
}
