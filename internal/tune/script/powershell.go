package script

import (
	_ "embed" // the parts that all scripts have
	"fmt"
	"strconv"
	"strings"
)

//go:embed common.ps1
var commonPS string

//go:embed settings.ps1
var settingsPS string

//go:embed body.ps1
var bodyPS string

// statePS is where a Windows host keeps the records of its plans.
const statePS = `Join-Path $env:ProgramData 'linerate\plans'`

// quotePS makes one text of PowerShell.
func quotePS(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// undoWordsPS is undoWords.
const undoWordsPS = `    $words = @('undo') + @($args)
    if (($words.Count -gt 2) -or (($words.Count -eq 2) -and ($words[1] -ne '--force'))) {
        [Console]::Out.Write("usage: powershell -ExecutionPolicy Bypass -File undo.ps1 [--force]` + "`n" + `")
        exit 2
    }
`

// powershell is Text for PowerShell 5.1 and 7. The text is ASCII, since without a mark PowerShell
// 5.1 reads a file in the code page of the system.
func (s Script) powershell(undo bool) (string, error) {
	head, words := "#   powershell -ExecutionPolicy Bypass -File change.ps1 apply\n", "    $words = @($args)\n"
	if undo {
		head, words = "#   powershell -ExecutionPolicy Bypass -File undo.ps1\n"+undoHead, undoWordsPS
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Plan %[1]s of linerate: %[2]d changes of a Windows host.
# Read it, then run it there as an administrator:
%[5]s# Each value is compared with what the plan was made for before anything is changed; the originals
# stand here, and a copy of this script is kept in ProgramData\linerate\plans\%[1]s on the host.
if (-not (Test-Path -LiteralPath 'variable:linerateCarried')) {
    $linerateCarried = $false
%[6]s    $text = [IO.File]::ReadAllText($PSCommandPath)
}
$plan = %[3]s
$state = %[4]s
`, s.Plan, len(s.Steps), quotePS(s.Plan), statePS, head, words)
	b.WriteString("$steps = @(\n")
	for i, st := range s.Steps {
		test := "$null"
		if st.Test != "" {
			test = "{ $value = " + quotePS(st.To) + "; " + st.Test + " }"
		}
		end := ","
		if i == len(s.Steps)-1 {
			end = ""
		}
		fmt.Fprintf(&b, "    @{\n        Name    = %s\n        From    = %s\n        To      = %s\n        Adapter = %s\n        Read    = { %s }\n        Write   = { %s }\n        Test    = %s\n    }%s\n",
			quotePS(st.Name), quotePS(st.From), quotePS(st.To), quotePS(st.Adapter), st.Read, st.Write, test, end)
	}
	b.WriteString(")\n\n" + commonPS + "\n" + settingsPS + "\n" + bodyPS + "if (-not $linerateCarried) { exit $code }\n")
	text := b.String()
	if i := strings.IndexFunc(text, func(r rune) bool { return r > '~' }); i >= 0 {
		return "", fmt.Errorf("write the script: %.20q: %w", text[i:], ErrValue)
	}
	return text, nil
}

// readingPS is Reading for PowerShell.
func readingPS(all []Mechanism) string {
	var b strings.Builder
	b.WriteString(commonPS + "\n" + settingsPS + `
function Send-Value {
    param([int]$Number, [scriptblock]$Command)
    $code = 0
    $said = ''
    try { $said = ConvertTo-Ascii ([string](& $Command)) } catch { $code = 1; $said = ConvertTo-Ascii (Get-Said $_) }
    [Console]::Out.Write("begin $Number $code $($said.Length)` + "`n$said`n" + `")
}
[Console]::Out.Write("` + "`nlinerate-frames 1`n" + `")
`)
	for i, m := range all {
		fmt.Fprintf(&b, "Send-Value %d { %s }\n", i, m.Read)
	}
	fmt.Fprintf(&b, "[Console]::Out.Write(\"linerate-frames end %d`n\")\n", len(all))
	return b.String()
}

// endPS ends a text within single quotes.
const endPS = "\n'@"

// carryPS is Carry for PowerShell: the script runs in the process that got it, and no file of it
// is made but the copy that it keeps itself.
func carryPS(text string, args []string) (string, error) {
	if strings.Contains(text, endPS) || !strings.HasSuffix(text, "\n") {
		return "", fmt.Errorf("carry the script: %w", ErrValue)
	}
	return `$linerateCarried = $true
$text = @'
` + text + `'@ + "` + "`n" + `"
$words = ` + wordsPS(args) + `
if ($text.Length -ne ` + strconv.Itoa(len(text)) + `) {
    [Console]::Out.Write('the script did not arrive whole: nothing was done')
    exit 1
}
[Console]::Out.Write("` + "`n" + began + "`n" + `")
Invoke-Expression $text
[Console]::Out.Write("` + ended + "$code`n" + `")
`, nil
}

// onPlansPS is OnPlans for PowerShell. A script that others could have written is not run.
func onPlansPS(plan string, args []string) string {
	return commonPS + `
$linerateCarried = $true
$words = ` + wordsPS(args) + `
$only = ` + quotePS(plan) + `
$linerateState = ` + statePS + `
$linerateCode = 0
[Console]::Out.Write("` + "`n" + began + "`n" + `")
try {
    # Another user sees no plan where there are some.
    if (-not (Test-Admin) -and (Test-Path -LiteralPath (Split-Path -Parent -Path $linerateState))) {
        $linerateCode = ` + strconv.Itoa(Unprivileged) + `
        $linerateNames = @()
    } else {
        $linerateNames = @(Get-Plans $linerateState)
    }
    foreach ($linerateName in $linerateNames) {
        if (($only -ne '') -and ($only -ne $linerateName)) { continue }
        $path = Join-Path (Join-Path $linerateState $linerateName) 'change.ps1'
        if (-not (Test-Path -LiteralPath $path)) { continue }
        Write-Say "plan $linerateName"
        $text = [IO.File]::ReadAllText($path)
        $code = 1
        Invoke-Expression $text
        if ($code -ne 0) { $linerateCode = $code }
    }
} catch {
    Write-Say (Get-Said $_)
    $linerateCode = 1
}
[Console]::Out.Write("` + ended + "$linerateCode`n" + `")
`
}

func wordsPS(args []string) string {
	var out []string
	for _, a := range args {
		out = append(out, quotePS(a))
	}
	return "@(" + strings.Join(out, ", ") + ")"
}
