package powershell

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// what a script prints.
func run(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	code, err := Run(text, Host{Out: &out, Version: "5.1.20348.1", Language: "FullLanguage", Env: map[string]string{"programdata": `C:\ProgramData`},
		Cmdlet: func(string) (Cmdlet, bool) { return Cmdlet{}, false }}, []any{"in"}, []string{"a", "5"})
	if err != nil {
		return "error: " + err.Error()
	}
	if code != 0 {
		out.WriteString("exit\r\n")
	}
	return strings.ReplaceAll(strings.TrimSuffix(out.String(), "\r\n"), "\r\n", "|")
}

func TestTheLanguageIsRunAsItIsDocumented(t *testing.T) {
	for text, want := range map[string]string{
		`'it''s'; "a$(1 + 2)b"; "x` + "`" + `$y"`:                                                    `it's|a3b|x$y`,
		`$a = @(1); $a.Count; $b = 1, 2, 3; $b[-1]; "$b"`:                                            "1|3|1 2 3",
		`function Get-One { @(7) }; $x = Get-One; $x + 1`:                                            "8",
		`function F { param([string]$A, [int]$B = 2) "$A-$B" }; F x 3; F -B 4 -A y; f z`:             "x-3|y-4|z-2",
		`function F { 'noise'; return 1 }; $x = F; $x.Count`:                                         "2",
		`$h = @{ A = 1; B = 'two' }; $h.b; $h['a']; $h.C = 3; $h.c`:                                  "two|1|3",
		`if ('ABC' -eq 'abc') { 'same' } elseif (1) { 'no' } else { 'no' }`:                          "same",
		`foreach ($n in 1..3) { if ($n -eq 2) { continue }; $n }; foreach ($n in $null) { 'never' }`: "1|3",
		`try { throw 'it' } catch { "caught $($_.Exception.Message)" } finally { 'end' }`:            "caught it|end",
		`$undefined`:                              "error: The variable '$undefined' cannot be retrieved because it has not been set.",
		`$h = @{}; $h.missing`:                    "error: The property 'missing' cannot be found on this object (*powershell.Hash).",
		`Get-Nothing -X 1`:                        "error: The term 'get-nothing' is not recognized as the name of a cmdlet, function, script file, or operable program.",
		`function F { param($A) $A }; F -Wrong 1`: "error: f: A parameter cannot be found that matches parameter name 'wrong'.",
		`'{0}-{1:x4}' -f 'a', 255; 'b,c' -split ','; @('x', 'y') -join '+'`:                                      "a-00ff|b|c|x+y",
		`ConvertTo-Json -Compress -Depth 4 -InputObject @(@{ A = @(1); B = $null; C = $true })`:                  `[{"A":[1],"B":null,"C":true}]`,
		`$args[0]; $input; $env:ProgramData; $PSVersionTable.PSVersion.Major; [string]$PSVersionTable.PSVersion`: `a|in|C:\ProgramData|5|5.1.20348.1`,
		`$n = 0; function Up { $script:n = $script:n + 1; $n = 9 }; Up; Up; $n`:                                  "2",
		`& { param($A) $A * 2 } 4; exit 3`:                                                                       "8|exit",
		`-not ($null -eq 0); (1 -eq 1) -and !$false; 5 / 2; 6 / 2; 7 % 4`:                                        "True|True|2.5|3|3",
		`[regex]::Replace('aäb', '[^\x20-\x7E]', { param($m) '\u{0:x4}' -f [int][char]$m.Value })`:               `a\u00e4b`,
		"$t = @'\nline 'one'\n$no\n'@\n$t.Length":                                                                "14",
		`function F { if ($true) { return }; 'never' }; $x = F; $null -eq $x`:                                    "True",
		`Invoke-Expression 'function G { 4 }; $q = 5'; G; $q`:                                                    "4|5",
	} {
		if got := run(t, text); got != want {
			t.Errorf("%s\n  is %q\nwant %q", text, got, want)
		}
	}
}

func TestWhatIsNotReadIsRefused(t *testing.T) {
	for _, text := range []string{"'open", "{", "if (1) 'x'", "switch (1) { }", `"$plan: x"`, "Get-X [Type]::Y", "a | Where-Object { }", "$x = = 1", "@{ 1 }"} {
		_, err := Run(text, Host{Out: &bytes.Buffer{}, Cmdlet: func(string) (Cmdlet, bool) { return Cmdlet{}, false }}, nil, nil)
		if err == nil || !errors.Is(err, ErrSyntax) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
