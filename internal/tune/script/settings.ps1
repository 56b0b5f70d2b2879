# How settings are read and written. Adapters go by their GUID, and their properties by the keyword
# that no driver and no language changes; properties are taken as the provider gives them.

function Find-Adapter {
    param([string]$Guid)
    foreach ($one in @(Get-NetAdapter)) {
        if ([string]$one.CimInstanceProperties['InterfaceGuid'].Value -eq $Guid) { return $one }
    }
    throw "no adapter has the GUID $Guid now"
}

function Find-Keyword {
    param([string]$Guid, [string]$Keyword)
    $name = [string](Find-Adapter $Guid).CimInstanceProperties['Name'].Value
    foreach ($one in @(Get-NetAdapterAdvancedProperty)) {
        if (($one.CimInstanceProperties['Name'].Value -ceq $name) -and ([string]$one.CimInstanceProperties['RegistryKeyword'].Value -eq $Keyword)) { return $one }
    }
    throw "the adapter $name has no $Keyword (Get-NetAdapterAdvancedProperty -AllProperties lists what it has)"
}

function Read-Keyword {
    param([string]$Guid, [string]$Keyword)
    $all = @((Find-Keyword $Guid $Keyword).CimInstanceProperties['RegistryValue'].Value)
    if ($all.Count -ne 1) { throw "$Keyword has $($all.Count) values" }
    return [string]$all[0]
}

# Test-Keyword says why an adapter does not take a value; empty: it does.
function Test-Keyword {
    param([string]$Guid, [string]$Keyword, [string]$Value)
    $one = Find-Keyword $Guid $Keyword
    $valid = $one.CimInstanceProperties['ValidRegistryValues'].Value
    if (($null -ne $valid) -and (@($valid).Count -gt 0)) {
        if (@($valid) -contains $Value) { return '' }
        return "the adapter takes only $(@($valid) -join ', ')"
    }
    $least = $one.CimInstanceProperties['NumericParameterMinValue'].Value
    $most = $one.CimInstanceProperties['NumericParameterMaxValue'].Value
    $step = $one.CimInstanceProperties['NumericParameterStepValue'].Value
    if (($null -eq $least) -or ($null -eq $most)) { return 'the adapter does not say which values it takes' }
    if ($Value -notmatch '^[0-9]{1,18}$') { return 'the adapter takes a number' }
    if (([long]$Value -lt [long]$least) -or ([long]$Value -gt [long]$most)) { return "the adapter takes $least to $most" }
    if (($null -ne $step) -and ([long]$step -gt 1) -and ((([long]$Value - [long]$least) % [long]$step) -ne 0)) { return "the adapter takes $least to $most in steps of $step" }
    return ''
}

function Test-Up {
    param([string]$Guid)
    try { return [int](Find-Adapter $Guid).CimInstanceProperties['InterfaceOperationalStatus'].Value -eq 1 } catch { return $false }
}

# Wait-Up: a change restarts the adapter. Until it is there again nothing can be read back.
function Wait-Up {
    param([string]$Guid, [bool]$Was)
    $tries = 0
    while ($Was -and ($tries -lt 60) -and -not (Test-Up $Guid)) {
        $tries = $tries + 1
        Start-Sleep -Milliseconds 500
    }
}

function Write-Keyword {
    param([string]$Guid, [string]$Keyword, [string]$Value)
    $was = Test-Up $Guid
    Set-NetAdapterAdvancedProperty -InputObject (Find-Keyword $Guid $Keyword) -RegistryValue $Value | Out-Null
    Wait-Up $Guid $was
}

# Find-Bindings are the protocols of an adapter.
function Find-Bindings {
    param([string]$Guid)
    $name = [string](Find-Adapter $Guid).CimInstanceProperties['Name'].Value
    foreach ($one in @(Get-NetAdapterBinding)) {
        if ($one.CimInstanceProperties['Name'].Value -ceq $name) { $one }
    }
}

# Get-Bound is the state of one protocol: "on", "off", or an error where it is not given.
function Get-Bound {
    param($One)
    $on = $One.CimInstanceProperties['Enabled'].Value
    if ($null -eq $on) { throw 'whether the protocol is on is not given' }
    if ($on) { return 'on' }
    return 'off'
}

function Find-Binding {
    param([string]$Guid, [string]$Component)
    foreach ($one in @(Find-Bindings $Guid)) {
        if ([string]$one.CimInstanceProperties['ComponentID'].Value -eq $Component) { return $one }
    }
    throw "the adapter has no $Component (Get-NetAdapterBinding lists what it has)"
}

function Read-Binding {
    param([string]$Guid, [string]$Component)
    Get-Bound (Find-Binding $Guid $Component)
}

# Get-Others are the states of an adapter's other protocols, as one text; "?" is one that is not given.
function Get-Others {
    param([string]$Guid, [string]$Component)
    $all = ''
    foreach ($one in @(Find-Bindings $Guid)) {
        $id = ConvertTo-Ascii ([string]$one.CimInstanceProperties['ComponentID'].Value)
        if ($id -eq $Component) { continue }
        $on = '?'
        try { $on = Get-Bound $one } catch { $on = '?' }
        $all = "$all $id=$on"
    }
    return $all
}

# Test-Binding: of a protocol that is not given before, nobody could say whether Windows switched it too.
function Test-Binding {
    param([string]$Guid, [string]$Component)
    foreach ($one in @((Get-Others $Guid $Component) -split ' ')) {
        if ($one -match '=\?$') { return "whether the adapter has $($one -replace '=.*', '') on is not given, and Windows may switch it too" }
    }
    return ''
}

# Find-Switched are those that were on or off and are not so now, as they were.
function Find-Switched {
    param([string]$Were, [string]$Are)
    $has = @($Are -split ' ')
    foreach ($one in @($Were -split ' ')) {
        if (($one -match '=(on|off)$') -and ($has -notcontains $one)) { $one }
    }
}

# Those that linerate switches, also where Windows did it: the others decide who reaches the host at all.
$protocols = @('ms_msclient', 'ms_server', 'ms_tcpip6', 'ms_lltdio', 'ms_rspndr', 'ms_lldp', 'ms_pacer')

function Set-Binding {
    param([string]$Guid, [string]$Component, [string]$Value)
    if ((Read-Binding $Guid $Component) -eq $Value) { return }
    $was = Test-Up $Guid
    if ($Value -eq 'on') {
        Enable-NetAdapterBinding -InputObject (Find-Binding $Guid $Component) | Out-Null
    } else {
        Disable-NetAdapterBinding -InputObject (Find-Binding $Guid $Component) | Out-Null
    }
    Wait-Up $Guid $was
}

# Save-Others keeps the states of the other protocols before the first write of step N: a run that is killed
# after it leaves them to the next. What somebody else switched while the whole plan was in force is no
# doing of that write: what is put back then has a record of its own.
function Save-Others {
    param([string]$Guid, [string]$Component, [int]$N, [bool]$PutsBack)
    $name = "$N.others"
    if ($PutsBack -and ($null -ne (Read-Record "$N.after"))) { $name = "$N.back" }
    $begun = $null -ne (Read-Record "$N.begun")
    $others = $null
    if ($begun) { $others = Read-Record $name }
    if ($null -ne $others) { return $others }
    $others = Get-Others $Guid $Component
    if (-not $begun) { return $others }
    if (-not $PutsBack) {
        Save-Record $name $others
    } else {
        # A disk that takes nothing must not keep the protocol switched.
        try { Save-Record $name $others } catch { return $others }
    }
    return $others
}

# Update-Others: what this step made of its protocol is no change by Windows to other steps that are still open.
# Those before it have it as it is put back to.
function Update-Others {
    param([string]$Guid, [string]$Component, [string]$Value, [int]$N, [bool]$PutsBack)
    foreach ($i in 1..$steps.Count) {
        if (($i -eq $N) -or ($steps[$i - 1].Adapter -ne $Guid) -or (($i -lt $N) -and -not $PutsBack)) { continue }
        foreach ($name in @("$i.others", "$i.back")) {
            $were = Read-Record $name
            if ($null -eq $were) { continue }
            $are = $were -replace " $Component=(on|off)", " $Component=$Value"
            if ($are -cne $were) { Save-Record $name $are }
        }
    }
}

# Write-Binding. Windows may switch others with one: a plan does not keep that, and what it puts back is whole
# only with them.
function Write-Binding {
    param([string]$Guid, [string]$Component, [string]$Value, [int]$N, [bool]$PutsBack)
    $were = Save-Others $Guid $Component $N $PutsBack
    Set-Binding $Guid $Component $Value
    Update-Others $Guid $Component $Value $N $PutsBack
    $switched = @(Find-Switched $were (Get-Others $Guid $Component))
    if ($switched.Count -eq 0) { return }
    if (-not $PutsBack) { throw "Windows switched other protocols of the adapter with it, which were $($switched -join ' ') (Get-NetAdapterBinding shows all)" }
    $why = ''
    foreach ($one in $switched) {
        $pair = @($one -split '=')
        if ($protocols -notcontains $pair[0]) { continue }
        try { Set-Binding $Guid $pair[0] $pair[1] } catch { $why = "; $(Get-Said $_)" }
    }
    $left = @(Find-Switched $were (Get-Others $Guid $Component))
    foreach ($one in $switched) {
        if ($left -notcontains $one) { Write-Say "Windows switched another protocol of the adapter with $($Component): $one again" }
    }
    if ($left.Count -gt 0) { throw "Windows switched other protocols of the adapter with it, which are not restored: by hand, $($left -join ' ') (Get-NetAdapterBinding shows all)$why" }
}

# Test-Carries: the adapter has the address of this very ssh session, which its restart would end.
function Test-Carries {
    param([string]$Guid)
    $ends = @(([string]$env:SSH_CONNECTION).Trim() -split ' ')
    if ($ends.Count -lt 3) { return $false }
    $number = (Find-Adapter $Guid).CimInstanceProperties['InterfaceIndex'].Value
    foreach ($one in @(Get-NetIPAddress)) {
        if ($one.CimInstanceProperties['InterfaceIndex'].Value -ne $number) { continue }
        foreach ($property in @('IPAddress', 'IPv4Address', 'IPv6Address')) {
            $address = $one.CimInstanceProperties[$property]
            if (($null -ne $address) -and ([string]$address.Value -eq $ends[2])) { return $true }
        }
    }
    return $false
}

$interfaces = 'SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\'

# Read-Interface is a number, or "absent": then the system has its default, which is not 0. A value of
# another type than the number that is written could not be put back as it was, also if it is the
# text "absent". No value of the registry is a Boolean: that one stands for none.
function Read-Interface {
    param([string]$Guid, [string]$Name)
    $value = [Microsoft.Win32.Registry]::GetValue("HKEY_LOCAL_MACHINE\$interfaces$Guid", $Name, $false)
    if ($null -eq $value) { throw 'the registry has no key for this adapter' }
    $type = $value.GetType().FullName
    if ($type -eq 'System.Boolean') { return 'absent' }
    if ($type -ne 'System.Int32') { throw "$Name is no REG_DWORD but a $type, which Windows ignores: delete it by hand" }
    return [string]$value
}

function Write-Interface {
    param([string]$Guid, [string]$Name, [string]$Value)
    $key = "HKLM:\$interfaces$Guid"
    if ($Value -eq 'absent') {
        if ((Read-Interface $Guid $Name) -ne 'absent') { Remove-ItemProperty -LiteralPath $key -Name $Name }
    } else {
        Set-ItemProperty -LiteralPath $key -Name $Name -Value ([int]$Value) -Type DWord
    }
}

$levels = @('disabled', 'highlyrestricted', 'restricted', 'normal', 'experimental')

function Read-Template {
    param([string]$Name, [string]$Property)
    foreach ($one in @(Get-NetTCPSetting)) {
        if ([string]$one.CimInstanceProperties['SettingName'].Value -ne $Name) { continue }
        $value = $one.CimInstanceProperties[$Property].Value
        if ($null -eq $value) { throw "the template $Name has no $Property of its own" }
        if ($Property -ne 'AutoTuningLevelLocal') { return [string]$value }
        $by = $one.CimInstanceProperties['AutoTuningLevelEffective']
        # Of a value that is not there a number would be made, which is 0.
        if (($null -eq $by) -or ($null -eq $by.Value)) { throw 'whether a group policy decides on it is not shown' }
        if ([int]$by.Value -ne 0) { throw 'a group policy decides on it' }
        return $levels[[int]$value]
    }
    throw "there is no template $Name"
}

# Read-Mpio is the policy for devices that Microsoft's DSM claims.
function Read-Mpio {
    $policy = [string](Get-MSDSMGlobalDefaultLoadBalancePolicy)
    if (-not (@('None', 'FOO', 'RR', 'LQD', 'LB') -contains $policy)) { throw "the policy '$policy' is not one that linerate knows" }
    return $policy
}

function Read-Smb {
    param([string]$End, [string]$Property)
    if ($End -eq 'client') { $one = Get-SmbClientConfiguration } else { $one = Get-SmbServerConfiguration }
    $value = $one.CimInstanceProperties[$Property]
    if ($null -eq $value) { throw "the SMB $End has no $Property" }
    return ([string]$value.Value).ToLowerInvariant()
}
