# What every plan has.
$dir = Join-Path $state $plan
# What cmd.exe and PowerShell both take: a name of a script alone opens an editor.
$again = 'powershell -ExecutionPolicy Bypass -File "' + (Join-Path $dir 'change.ps1') + '"'
$lock = $null
$rolling = $false
$force = $false
$failures = 0
$conflicts = 0

# New-Owned makes a directory that only administrators and the system can open, under another name
# first: it is secured and empty, or is not there. One that is there has to pass Test-Owned.
function New-Owned {
    param([string]$Path)
    $new = "$Path." + [IO.Path]::GetRandomFileName()
    New-Item -ItemType Directory -Path $new | Out-Null
    $acl = Get-Acl -LiteralPath $new
    $acl.SetSecurityDescriptorSddlForm('O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)')
    Set-Acl -LiteralPath $new -AclObject $acl
    if (@(Get-ChildItem -LiteralPath $new -Force).Count -ne 0) { throw "somebody else wrote into $($new): nothing was done" }
    Move-Item -LiteralPath $new -Destination $Path
}

# Open-Plan: the directories, and one run of the plan at a time. The lock is an open file, which
# ends with its process.
function Open-Plan {
    param([string]$Verb, [int]$Patience)
    $making = $Verb -eq 'apply'
    foreach ($path in @((Split-Path -Parent -Path $state), $state, $dir)) {
        if (-not (Test-Path -LiteralPath $path)) {
            if (-not $making) { return }
            New-Owned $path
        }
        if (-not (Test-Owned $path)) { throw "$path is no directory that only administrators can write to: nothing was done" }
    }
    $tries = 0
    while ($null -eq $script:lock) {
        try {
            $script:lock = [IO.File]::Open((Join-Path $dir 'lock'), [IO.FileMode]::OpenOrCreate, [IO.FileAccess]::ReadWrite, [IO.FileShare]::None)
        } catch {
            $tries = $tries + 1
            if ($tries -gt $Patience) { throw "another run of this plan is at work, or nothing can be written to $($dir): nothing was done" }
            Start-Sleep -Milliseconds 1000
        }
    }
}

# Save-Record: a file is whole, on the disk, or is not there.
function Save-Record {
    param([string]$Name, [string]$Text)
    $bytes = [Text.Encoding]::ASCII.GetBytes("is $Text.")
    Save-Bytes $Name $bytes
}

function Save-Bytes {
    param([string]$Name, $Bytes)
    $path = Join-Path $dir $Name
    $file = [IO.File]::Create("$path.new")
    try {
        $file.Write($Bytes, 0, $Bytes.Length)
        $file.Flush($true)
    } finally {
        $file.Dispose()
    }
    Move-Item -LiteralPath "$path.new" -Destination $path -Force
}

# Read-Record is its text; null where it is not there or not whole.
function Read-Record {
    param([string]$Name)
    $path = Join-Path $dir $Name
    if (-not (Test-Path -LiteralPath $path)) { return $null }
    $text = [IO.File]::ReadAllText($path)
    if (-not $text.StartsWith('is ')) { return $null }
    if (-not $text.EndsWith('.')) { return $null }
    return $text.Substring(3, $text.Length - 4)
}

function Remove-Record {
    param([string]$Name)
    $path = Join-Path $dir $Name
    if (Test-Path -LiteralPath $path) { Remove-Item -LiteralPath $path -Force }
}

# --- the plan ---

# Read-Step is its value now; an error where it gives none.
function Read-Step {
    param($Step)
    $now = [string](& $Step.Read)
    if ($now -notmatch '^[A-Za-z0-9_.,:=+/-]{1,200}$') { throw 'it gives no value' }
    return $now
}

function Show-Status {
    $open = 0
    foreach ($n in 1..$steps.Count) {
        $step = $steps[$n - 1]
        $now = $null
        try { $now = Read-Step $step } catch { Write-Say "$($step.Name): cannot be read: $(Get-Said $_)" }
        $begun = $null -ne (Read-Record "$n.begun")
        if ($begun) { $open = $open + 1 }
        if ($null -eq $now) { continue }
        if ($begun) {
            Write-Say "$($step.Name): $now (original $($step.From), wanted $($step.To)): changed by this plan"
        } else {
            Write-Say "$($step.Name): $now (wanted $($step.To))"
        }
    }
    if ($null -ne (Read-Record 'waiting')) { Write-Say "waits to be confirmed: $plan" }
    Write-Say "$open of $($steps.Count) changes are open"
}

# Test-All: before anything is changed, each value has to be what the plan was made for, and the
# host has to take what is wanted.
function Test-All {
    foreach ($n in 1..$steps.Count) {
        $step = $steps[$n - 1]
        $name = $step.Name
        $now = ''
        try { $now = Read-Step $step } catch { throw "$($name): cannot be read: $(Get-Said $_): nothing was changed" }
        if (($now -ne $step.From) -and ($now -ne $step.To) -and ($now -ne (Read-Record "$n.after"))) {
            throw "$($name): is $now, and the plan was made for $($step.From): nothing was changed; make a new plan"
        }
        if ($null -eq $step.Test) { continue }
        $why = [string](& $step.Test)
        if ($why -ne '') { throw "$($name): $($step.To): $($why): nothing was changed" }
        if (($now -ne $step.To) -and (Test-Carries $step.Adapter)) {
            throw "$($name): this ssh session goes through the adapter, whose restart would end it: log in by another adapter, or run the script at the console; nothing was changed"
        }
    }
}

# --- the dead-man ---

function Register-Run {
    param([string]$Name, [string]$Verb, [int]$Minutes, [int]$Every)
    $action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument ('-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "' + (Join-Path $dir 'change.ps1') + '" ' + $Verb)
    $at = [DateTime]::Now.AddMinutes($Minutes)
    if ($Every -gt 0) {
        $trigger = New-ScheduledTaskTrigger -Once -At $at -RepetitionInterval ([TimeSpan]::FromMinutes($Every))
    } else {
        $trigger = New-ScheduledTaskTrigger -Once -At $at
    }
    $who = New-ScheduledTaskPrincipal -UserId 'S-1-5-18' -LogonType ServiceAccount -RunLevel Highest
    $how = New-ScheduledTaskSettingsSet -StartWhenAvailable -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries
    Register-ScheduledTask -TaskName $Name -Action $action -Trigger $trigger -Principal $who -Settings $how -Force | Out-Null
}

function Unregister-Run {
    param([string]$Name)
    try { Unregister-ScheduledTask -TaskName $Name -Confirm:$false } catch { return }
}

# Register-Undo has the plan undone later, and again every ten minutes until that is done: a task that
# fails or is killed is not the last.
function Register-Undo {
    param([int]$Minutes)
    Register-Run "linerate-$plan" 'unconfirmed' $Minutes 10
}

# Get-Policy says where a group policy forbids a task to run the script's file, which no argument of
# PowerShell changes. The names of scopes and policies are never translated.
function Get-Policy {
    $policy = ''
    try { $policy = [string](Get-ExecutionPolicy -Scope MachinePolicy) } catch { return '' }
    if (@('AllSigned', 'Restricted') -notcontains $policy) { return '' }
    return " (a group policy sets the execution policy to $policy, under which it runs no change.ps1: apply without minutes, which runs no file when linerate does it, or have that policy changed)"
}

# Start-Deadman has the plan undone later, once a task of the same kind has shown that it runs.
function Start-Deadman {
    param([int]$Minutes)
    Remove-Record 'tried'
    $ran = $false
    try {
        Register-Run "linerate-try-$plan" 'try' 1440 0
        Start-ScheduledTask -TaskName "linerate-try-$plan"
        $tries = 0
        while ((-not $ran) -and ($tries -lt 60)) {
            $ran = Test-Path -LiteralPath (Join-Path $dir 'tried')
            $tries = $tries + 1
            if (-not $ran) { Start-Sleep -Milliseconds 500 }
        }
    } finally {
        Unregister-Run "linerate-try-$plan"
    }
    if (-not $ran) { throw "the task did not run$(Get-Policy)" }
    Register-Undo $Minutes
}

# --- apply and undo ---

# Undo-Plan puts back, newest first, what has a record, and leaves what somebody else changed.
function Undo-Plan {
    Undo-Once
    # What one step could not take may have been another's to make room for.
    if ($failures -gt 0) { Undo-Once }
}

function Undo-Once {
    $script:failures = 0
    $script:conflicts = 0
    $n = $steps.Count
    while ($n -ge 1) {
        Undo-Step $n $steps[$n - 1]
        $n = $n - 1
    }
}

function Undo-Step {
    param([int]$N, $Step)
    $name = $Step.Name
    $begun = Test-Path -LiteralPath (Join-Path $dir "$N.begun")
    $now = ''
    try {
        $now = Read-Step $Step
    } catch {
        if ($begun) {
            Write-Say "$($name): cannot be read: $(Get-Said $_); its original is $($Step.From)"
            $script:failures = $script:failures + 1
        }
        return
    }
    if (-not $begun) {
        if ($script:rolling -or (Test-Path -LiteralPath (Join-Path $dir "$N.already")) -or ($now -ne $Step.To)) { return }
        if (-not $script:force) {
            Write-Say "$($name): is $($Step.To), as this plan wants it, and there is no record that the plan did it: left alone (undo --force sets it to $($Step.From))"
            $script:conflicts = $script:conflicts + 1
            return
        }
        Reset-Step $Step $now | Out-Null
        return
    }
    $ours = Read-Record "$N.after"
    if ($null -eq $ours) { $ours = $Step.To }
    $half = Test-Path -LiteralPath (Join-Path $dir "$N.others")
    if (($now -eq $Step.From) -and -not $half) {
        Write-Say "$($name): is $($Step.From) already"
    } elseif (($now -ne $Step.From) -and ($now -ne $ours) -and ($now -ne $Step.To) -and (-not $script:force)) {
        Write-Say "$($name): changed by somebody else, left alone: ours $ours, theirs $now, original $($Step.From) (undo --force restores it)"
        $script:conflicts = $script:conflicts + 1
        return
    } elseif (-not (Reset-Step $Step $now)) {
        return
    }
    foreach ($record in @('back', 'others', 'after', 'begun')) { Remove-Record "$N.$record" }
}

# Reset-Step sets a step to its original and reads it back.
function Reset-Step {
    param($Step, [string]$Was)
    $why = ''
    try {
        $value = $Step.From
        & $Step.Write | Out-Null
        $now = Read-Step $Step
        if ($now -eq $Step.From) {
            if ($Was -eq $now) { Write-Say "$($Step.Name): is $now already" } else { Write-Say "$($Step.Name): $Was -> $now again" }
            return $true
        }
        $why = "it is $now"
    } catch {
        $why = Get-Said $_
    }
    Write-Say "$($Step.Name): could not be set back to $($Step.From): $why"
    $script:failures = $script:failures + 1
    return $false
}

function Undo-All {
    param([bool]$AtItsTime)
    Undo-Plan
    if (($failures -gt 0) -or ($conflicts -gt 0)) {
        Write-Say "not everything was restored: $failures failed, $conflicts left alone"
        if ($AtItsTime) {
            if ($failures -gt 0) {
                Write-Say 'this host tries again in ten minutes by itself'
            } else {
                # No other try would put back what somebody else changed.
                Unregister-Run "linerate-$plan"
                Remove-Record 'waiting'
            }
        }
        return 4
    }
    if (Test-Path -LiteralPath $dir) {
        Unregister-Run "linerate-$plan"
        Remove-Record 'waiting'
        foreach ($n in 1..$steps.Count) { Remove-Record "$n.already" }
    }
    Write-Say "nothing of plan $plan is in force"
    return 0
}

function Restore-Failed {
    param([string]$Why)
    Write-Say "$($Why): what this plan changed is put back"
    $script:rolling = $true
    Undo-Plan
    if (($failures -gt 0) -or ($conflicts -gt 0)) {
        Write-Say "not everything could be put back: $failures failed, $conflicts left alone; look with: $again status"
    }
    if (($failures -gt 0) -and ($null -ne (Read-Record 'waiting'))) {
        Write-Say 'at the time of its task this host tries again by itself'
        return 4
    }
    Remove-Record 'waiting'
    Unregister-Run "linerate-$plan"
    if ($failures -gt 0) { Write-Say "this host does not try again by itself, since the plan was applied without minutes: $again undo" }
    if (($failures -eq 0) -and ($conflicts -eq 0)) { return 1 }
    return 4
}

# Set-Step makes one change; what it throws undoes the plan.
function Set-Step {
    param([int]$N, $Step)
    $name = $Step.Name
    $now = ''
    try { $now = Read-Step $Step } catch { throw "$($name): cannot be read: $(Get-Said $_)" }
    $begun = $null -ne (Read-Record "$N.begun")
    if (($now -eq $Step.To) -and (-not $begun)) {
        Save-Record "$N.already" 'so'
        Write-Say "$($name): is $now already"
        return
    }
    if ($begun -and ($now -eq (Read-Record "$N.after"))) {
        Write-Say "$($name): $($Step.From) -> $now, by an earlier run"
        return
    }
    if (-not $begun) {
        foreach ($record in @('back', 'others', 'after')) { Remove-Record "$N.$record" }
        Save-Record "$N.begun" 'so'
    }
    $value = $Step.To
    try { & $Step.Write | Out-Null } catch { throw "$($name): could not be set to $($value): $(Get-Said $_)" }
    try { $now = Read-Step $Step } catch { throw "$($name): cannot be read after it was set: $(Get-Said $_)" }
    if ($now -eq $Step.From) { throw "$($name): was set to $value without an error, and is $now still" }
    Save-Record "$N.after" $now
    if ($now -eq $value) {
        Write-Say "$($name): $($Step.From) -> $now"
    } else {
        Write-Say "$($name): $($Step.From) -> $now (the system made $now of $value)"
    }
}

function Save-Script {
    $path = Join-Path $dir 'change.ps1'
    if (Test-Path -LiteralPath $path) {
        if ([IO.File]::ReadAllText($path) -ceq $text) { return }
    }
    Save-Bytes 'change.ps1' ([Text.Encoding]::ASCII.GetBytes($text))
}

function Invoke-Apply {
    param([int]$Minutes)
    Test-All
    try { Save-Script } catch { throw "cannot keep a copy of this script in $($dir): $(Get-Said $_): nothing was changed" }
    if ($Minutes -gt 0) {
        Save-Record 'waiting' 'so'
        try {
            Start-Deadman $Minutes
        } catch {
            Remove-Record 'waiting'
            throw "this host does not run a task for later, so that nothing would undo the plan by itself: $(Get-Said $_): nothing was changed"
        }
    }
    try {
        foreach ($n in 1..$steps.Count) { Set-Step $n $steps[$n - 1] }
    } catch {
        return Restore-Failed (Get-Said $_)
    }
    if ($Minutes -gt 0) { Write-Say "undone by itself in $Minutes minutes, unless confirmed: $again confirm" }
    Write-Say "all $($steps.Count) changes of $plan are in force"
    Write-Say "to have everything as it was: $again undo"
    return 0
}

function Confirm-Plan {
    if (-not (Test-Path -LiteralPath (Join-Path $dir 'waiting'))) {
        throw "nothing of plan $plan waits to be confirmed: it was confirmed, undone, or never waited"
    }
    Remove-Record 'waiting'
    Unregister-Run "linerate-$plan"
    Write-Say "confirmed: $again undo restores the values from before"
    return 0
}

function Show-Usage {
    Write-Say 'usage: powershell -ExecutionPolicy Bypass -File change.ps1 status | apply [MINUTES] | confirm | undo [--force]'
    Write-Say '  apply MINUTES undoes everything by itself after that time, unless it is confirmed'
    return 2
}

function Start-Plan {
    param($Words)
    $verb = ''
    if ($Words.Count -gt 0) { $verb = [string]$Words[0] }
    $more = ''
    if ($Words.Count -gt 1) { $more = [string]$Words[1] }
    $good = ($Words.Count -eq 1) -and (@('status', 'apply', 'confirm', 'unconfirmed', 'undo', 'try') -contains $verb)
    if ($Words.Count -eq 2) {
        $good = (($verb -eq 'apply') -and ($more -match '^[1-9][0-9]{0,3}$')) -or (($verb -eq 'undo') -and ($more -eq '--force'))
    }
    if (-not $good) { return Show-Usage }
    if ($more -eq '--force') { $script:force = $true }
    if (-not (Test-Admin)) { throw 'it takes an administrator: nothing was done' }
    if ($verb -eq 'try') {
        if (Test-Owned $dir) { Save-Record 'tried' 'so' }
        return 0
    }
    $patience = 0
    if ($verb -eq 'undo') { $patience = 60 }
    if ($verb -eq 'unconfirmed') { $patience = 300 }
    Open-Plan $verb $patience
    if ($verb -eq 'status') { Show-Status; return 0 }
    if ($verb -eq 'confirm') { return Confirm-Plan }
    if ($verb -eq 'undo') { return Undo-All $false }
    if ($verb -eq 'unconfirmed') {
        if (-not (Test-Path -LiteralPath (Join-Path $dir 'waiting'))) { return 0 }
        return Undo-All $true
    }
    $minutes = 0
    if ($more -ne '') { $minutes = [int]$more }
    return Invoke-Apply $minutes
}

function Close-Plan {
    if ($null -ne $script:lock) { $script:lock.Dispose() }
}

$code = 1
try {
    $code = Start-Plan $words
} catch {
    Write-Say (Get-Said $_)
} finally {
    Close-Plan
}
