# What linerate's scripts for PowerShell share.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$WarningPreference = 'SilentlyContinue'

function ConvertTo-Ascii {
    param([string]$Text)
    [regex]::Replace(($Text -replace '[\r\n]+', ' '), '[^\x20-\x7E]', { param($m) '\u{0:x4}' -f [int][char]$m.Value })
}

# Write-Say prints a line; what is not ASCII is escaped, as a code page could change it.
function Write-Say {
    param([string]$Text)
    [Console]::Out.Write((ConvertTo-Ascii $Text) + "`n")
}

# Each part has a name of its own for what it read, so that no other changes it.
function Get-Said {
    param($Record)
    $Record.Exception.Message
}

# Test-Owned: only administrators and the system may write there, and it is no link.
function Test-Owned {
    param([string]$Path)
    $item = Get-Item -LiteralPath $Path -Force
    if ([string]$item.Attributes -match 'ReparsePoint') { return $false }
    $acl = Get-Acl -LiteralPath $Path
    $trusted = @('S-1-5-18', 'S-1-5-32-544')
    $owner = $acl.GetOwner([Security.Principal.SecurityIdentifier]).Value
    if ($trusted -notcontains $owner) { return $false }
    foreach ($rule in @($acl.GetAccessRules($true, $true, [Security.Principal.SecurityIdentifier]))) {
        if ($trusted -notcontains $rule.IdentityReference.Value) { return $false }
    }
    return $true
}

# Get-Plans are the plans that have a directory which only administrators can write to, newest first.
function Get-Plans {
    param([string]$State)
    if (-not (Test-Path -LiteralPath $State)) { return }
    foreach ($path in @((Split-Path -Parent -Path $State), $State)) {
        if (-not (Test-Owned $path)) { throw "$path is no directory that only administrators can write to: nothing was done" }
    }
    $names = @()
    foreach ($item in @(Get-ChildItem -LiteralPath $State -Force)) {
        if (([string]$item.Name -match '^[a-z0-9][a-z0-9-]{0,63}$') -and (Test-Owned (Join-Path $State $item.Name))) { $names = @([string]$item.Name) + $names }
    }
    $names
}

function Test-Admin {
    ([Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()).IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
}
