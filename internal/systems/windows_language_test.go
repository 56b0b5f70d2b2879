package systems

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"linerate/internal/systems/frame"
)

// A host in German is read as the same host in English, whole or with cmdlets that fail.
func TestTheLanguageOfWindowsChangesNothing(t *testing.T) {
	for _, how := range []string{"", "unlike", "noadmin", "denied:get-netadapterrss", "denied:get-smbserverconfiguration", "missing:get-nettcpsetting", "empty:get-netadapter"} {
		german, english := readWindows(t, askWindows(t, how)), readWindows(t, askWindows(t, how+",english"))
		for i := range german.CouldNotSee {
			german.CouldNotSee[i].How = strings.Replace(german.CouldNotSee[i].How, "Zugriff verweigert für Müller", "Access denied for Miller", 1)
		}
		if !reflect.DeepEqual(german, english) {
			t.Errorf("%s: in German\n%+v\nin English\n%+v", how, german, english)
		}
	}
}

// words are what a cmdlet may show to people beside what is read, in two languages.
func words(language string) map[string]any {
	return map[string]map[string]any{
		"english": {"DisplayName": "Jumbo Packet", "DisplayValue": "9.014 kBytes", "Status": "Up", "MediaConnectionState": "Connected", "LinkSpeed": "10.0 Gbps", "AutoTuningLevel": "Normal", "Caption": "High performance", "Dialekt": "3.1"},
		"german":  {"DisplayName": "Großrahmen (übergroß)", "DisplayValue": "9,014 KByte", "Status": "Getrennt", "MediaConnectionState": "Verbunden", "LinkSpeed": "10,0 GBit/s", "AutoTuningLevel": "Normal (eingeschränkt)", "Caption": "Höchstleistung", "Dialekt": "3,1"},
	}[language]
}

// shown is an answer whose objects have such words too, as UTF-8 and not escaped.
func shown(t *testing.T, answer []byte, language string) []byte {
	t.Helper()
	frames, err := frame.Parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.NewBufferString("Willkommen, Müller\r\n\nlinerate-frames 1\n")
	for name, f := range frames {
		var all []map[string]any
		d := json.NewDecoder(strings.NewReader(f.Text))
		d.UseNumber()
		if f.Code == 0 && d.Decode(&all) == nil {
			for _, one := range all {
				for column, word := range words(language) {
					one[column] = word
				}
			}
			var text strings.Builder
			e := json.NewEncoder(&text)
			e.SetEscapeHTML(false)
			if err := e.Encode(all); err != nil {
				t.Fatal(err)
			}
			f.Text = strings.TrimSpace(text.String())
		}
		fmt.Fprintf(out, "begin %s %d %d\n%s\n", name, f.Code, len(f.Text), f.Text)
	}
	fmt.Fprintf(out, "linerate-frames end %d\n", len(frames))
	return out.Bytes()
}

// What is shown to people is not read, in whatever language and encoding it comes.
func TestWordsForPeopleAreNotRead(t *testing.T) {
	answer := askWindows(t, "unlike")
	plain := readWindows(t, answer)
	for _, language := range []string{"english", "german"} {
		told := shown(t, answer, language)
		if language == "german" && (!bytes.Contains(told, []byte("SAN 2 (Büro)")) || !bytes.Contains(told, []byte("9,014"))) {
			t.Fatal("the answer is not in German")
		}
		got := readWindows(t, told)
		if !reflect.DeepEqual(got, plain) {
			t.Errorf("in %s\n%+v\nwant\n%+v", language, got, plain)
		}
	}
}

// What an execution policy keeps from being read is told as that, and not as a missing cmdlet.
func TestACmdletThatAPolicyForbidsIsNotMissing(t *testing.T) {
	for how, want := range map[string]string{
		"forbidden:get-nettcpsetting":          "an execution policy forbids",
		"forbidden:get-nettcpsetting,english":  "an execution policy forbids",
		"unloadable:get-nettcpsetting":         "did not load its module",
		"unloadable:get-nettcpsetting,english": "did not load its module",
	} {
		f := readWindows(t, askWindows(t, how))
		told := false
		for _, b := range f.CouldNotSee {
			told = told || strings.Contains(b.How, want) && !strings.Contains(b.How, "no such cmdlet")
		}
		if _, ok := f.Settings["windows.tcp.autotuning@Internet"]; ok || !told {
			t.Errorf("%s: %+v", how, f.CouldNotSee)
		}
	}
}
