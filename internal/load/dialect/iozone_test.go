package dialect

import (
	"slices"
	"strings"
	"testing"

	"linerate/internal/unit"
)

// The automatic mode doubles files and records within its bounds, and leaves small records
// of large files out.
func TestIozoneAutomatic(t *testing.T) {
	jobs, err := Iozone(strings.Fields("-a -i 0 -i 1 -n 64 -g 128 -y 32 -q 64 -R"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, j := range jobs {
		names = append(names, strings.TrimPrefix(j.Name, "iozone "))
	}
	want := []string{}
	for _, sizes := range []string{"64 KiB in 32 KiB", "64 KiB in 64 KiB", "128 KiB in 32 KiB", "128 KiB in 64 KiB"} {
		for _, test := range []string{"write", "rewrite", "read", "reread"} {
			want = append(want, test+" of "+sizes)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q\nwant %q", names, want)
	}
	if j := jobs[15]; j.Targets[0].Size != 128*unit.KiB || j.Shape.Sizes[0].Size != 64*unit.KiB || j.Shape.Read != 1 {
		t.Errorf("%+v", j)
	}
	jobs, err = Iozone(strings.Fields("-a -i 1"))
	if err != nil || len(jobs) < 100 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for _, j := range jobs {
		if j.Targets[0].Size > ioCrossover && j.Shape.Sizes[0].Size < ioSkipBelow {
			t.Errorf("%s", j.Name)
		}
	}
	jobs, err = Iozone(strings.Fields("-a -i 0 -+n -r 4k -s 64m"))
	if err != nil || len(jobs) != 1 || jobs[0].Shape.Sizes[0].Size != 4096 {
		t.Errorf("%+v, %v", jobs, err)
	}
	for args, want := range map[string]string{
		"-i 0 -n 64": "add -a", "-a -i 0 -n x": "is no size", "-a -i 0 -g 32": "fits into a file", "-a -i 0 -y 0": "nothing is that small",
		"-a -i 0 -i 1 -i 2 -g 1t -y 1": "more than 1000 runs",
	} {
		if _, err := Iozone(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// The line of Solarflare's back-to-back test, unchanged: every test that there is here, at
// every size of record; the tests that are not, and the bytes behind the last whole record,
// are told.
func TestIozoneLineOfSolarflare(t *testing.T) {
	jobs, err := Iozone(strings.Fields("-a -n 1400m -s 1400m"))
	if err != nil {
		t.Fatal(err)
	}
	records := map[unit.Bytes]int{}
	for _, j := range jobs {
		record := j.Shape.Sizes[0].Size
		records[record]++
		size := j.Targets[0].Size
		whole := 1400*unit.MiB/record*record == size
		cut := slices.ContainsFunc(j.Notes, func(n string) bool { return strings.Contains(n, "no whole record") })
		told := slices.ContainsFunc(j.Notes, func(n string) bool { return strings.Contains(n, "not reading backwards (3)") })
		if !whole || cut != (size != 1400*unit.MiB) || !told {
			t.Errorf("%s: %v in %v, notes %q", j.Name, size, record, j.Notes)
		}
	}
	if len(records) != 9 || records[64*unit.KiB] != 6 || records[16*unit.MiB] != 6 {
		t.Errorf("runs by record: %v", records)
	}
}

// A file of clients is hosts, a directory and processes on each.
func TestIozoneCluster(t *testing.T) {
	file, rest, err := IozoneClients(strings.Fields("-t 4 -+m clients -i 0"))
	if err != nil || file != "clients" || strings.Join(rest, " ") != "-t 4 -i 0" {
		t.Fatal(file, rest, err)
	}
	c, err := IozoneCluster("# nodes\nc1 /mnt/nas /usr/bin/iozone\nc2 /mnt/nas /usr/bin/iozone\n\nc1 /mnt/nas /x\nc2 /mnt/nas /x\n")
	if err != nil || !slices.Equal(c.Hosts, []string{"c1", "c2"}) || c.Dir != "/mnt/nas" || c.PerHost != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	for args, want := range map[string]string{"-t 4 -i 0": "-t 2 -i 0", "-i 0 -t4": "-i 0 -t2"} {
		if got, err := c.Options(strings.Fields(args)); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v", args, got, err)
		}
	}
	for _, args := range []string{"-t 3", "-i 0", "-t", "-tx"} {
		if got, err := c.Options(strings.Fields(args)); err == nil {
			t.Errorf("%s: %v", args, got)
		}
	}
	for text, want := range map[string]string{
		"": "names no client", "c1 /a": "line 1: want a client", "c1 /a x\nc2 /b x": "line 2: c2 works in /b", "c1 /a x\nc1 /a x\nc2 /a x": "c1 runs 2 processes and c2 1",
	} {
		if _, err := IozoneCluster(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, args := range []string{"-+m", "-+m a -+m b"} {
		if _, _, err := IozoneClients(strings.Fields(args)); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
}

func FuzzIozoneCluster(f *testing.F) {
	f.Add("c1 /mnt/nas /usr/bin/iozone\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := IozoneCluster(text); err == nil && (len(c.Hosts) == 0 || c.PerHost < 1 || c.Dir == "") {
			t.Errorf("%q: %+v", text, c)
		}
	})
}
