# Read only. What each cmdlet gives goes into a frame: name, code, bytes. All of it is ASCII, so
# that no code page changes it, and JSON with numbers for what has a name in the system's language.
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
$WarningPreference = 'SilentlyContinue'

function ConvertTo-Ascii {
    param([string]$Text)
    [regex]::Replace($Text, '[^\x20-\x7E]', { param($m) '\u{0:x4}' -f [int][char]$m.Value })
}

$frames = 0
function Send-Frame {
    param([string]$Name, [int]$Code, [string]$Text)
    [Console]::Out.Write("begin $Name $Code $($Text.Length)`n$Text`n")
    $script:frames = $script:frames + 1
}

# Codes: 0 it is read, 126 its module is not loaded, 127 no such cmdlet, 13 denied, 3 there is none, 1 all else.
function Send-Failure {
    param([string]$Name, $Record)
    $code = 1
    $type = $Record.Exception.GetType().FullName
    $category = [string]$Record.CategoryInfo.Category
    if ([string]$Record.FullyQualifiedErrorId -eq 'CouldNotAutoLoadModule') { $code = 126 }
    elseif ($type -eq 'System.Management.Automation.CommandNotFoundException') { $code = 127 }
    elseif ($category -eq 'PermissionDenied') { $code = 13 }
    elseif ($type -eq 'System.UnauthorizedAccessException') { $code = 13 }
    elseif ($type -eq 'System.Security.SecurityException') { $code = 13 }
    elseif ($category -eq 'ObjectNotFound') { $code = 3 }
    Send-Frame $Name $code (ConvertTo-Ascii ("$type, " + $category + ': ' + $Record.Exception.Message))
}

function Read-Frame {
    param([string]$Name, [scriptblock]$Command)
    $text = ''
    try {
        $text = ConvertTo-Ascii (ConvertTo-Json -Compress -Depth 4 -InputObject @(& $Command))
    } catch {
        Send-Failure $Name $_
        return
    }
    Send-Frame $Name 0 $text
}

# Select-Raw takes properties as the provider gives them: enumerations are numbers there.
function Select-Raw {
    param($From, [string[]]$Names)
    foreach ($instance in $From) {
        $row = [ordered]@{}
        foreach ($name in $Names) {
            $property = $instance.CimInstanceProperties[$name]
            if ($null -ne $property) { $row[$name] = $property.Value }
        }
        $row
    }
}

[Console]::Out.Write("`nlinerate-frames 1`n")
Read-Frame 'shell' {
    $me = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
    [ordered]@{
        Version  = [string]$PSVersionTable.PSVersion
        Language = [string]$ExecutionContext.SessionState.LanguageMode
        Admin    = $me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
    }
}
Read-Frame 'os' {
    Select-Raw (Get-CimInstance -ClassName Win32_OperatingSystem) @('CSName', 'Version', 'BuildNumber', 'ProductType')
}
Read-Frame 'boot' {
    (Get-CimInstance -ClassName Win32_OperatingSystem).LastBootUpTime.ToUniversalTime().ToString('yyyyMMddHHmmss', [Globalization.CultureInfo]::InvariantCulture)
}
Read-Frame 'computer' {
    Select-Raw (Get-CimInstance -ClassName Win32_ComputerSystem) @('NumberOfLogicalProcessors', 'TotalPhysicalMemory')
}
Read-Frame 'adapters' {
    Select-Raw (Get-NetAdapter) @('Name', 'InterfaceDescription', 'InterfaceGuid', 'InterfaceIndex', 'InterfaceType', 'HardwareInterface', 'Virtual', 'PermanentAddress', 'DriverName', 'DriverVersionString', 'FullDuplex', 'ReceiveLinkSpeed', 'TransmitLinkSpeed', 'InterfaceOperationalStatus', 'MediaConnectState', 'MtuSize')
}
# Those that Microsoft has given names, which no language changes; NetworkAddress stays out.
Read-Frame 'keywords' {
    foreach ($one in (Select-Raw (Get-NetAdapterAdvancedProperty) @('Name', 'RegistryKeyword', 'RegistryValue', 'DefaultRegistryValue', 'ValidRegistryValues', 'NumericParameterMinValue', 'NumericParameterMaxValue', 'NumericParameterStepValue'))) {
        if (([string]$one['RegistryKeyword']).StartsWith('*')) { $one }
    }
}
Read-Frame 'rss' {
    Select-Raw (Get-NetAdapterRss) @('Name', 'Enabled', 'NumberOfReceiveQueues', 'MaxProcessors', 'Profile')
}
Read-Frame 'rsc' {
    Select-Raw (Get-NetAdapterRsc) @('Name', 'IPv4Enabled', 'IPv4OperationalState', 'IPv6Enabled', 'IPv6OperationalState')
}
Read-Frame 'ip' {
    Select-Raw (Get-NetIPInterface) @('InterfaceIndex', 'AddressFamily', 'NlMtu')
}
Read-Frame 'addresses' {
    Select-Raw (Get-NetIPAddress) @('InterfaceIndex', 'IPAddress', 'IPv4Address', 'IPv6Address', 'PrefixLength')
}
# A value that is not there is false, which no value of the registry is.
Read-Frame 'interfaces' {
    foreach ($one in (Select-Raw (Get-NetAdapter) @('Name', 'InterfaceGuid'))) {
        $key = 'HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\' + $one['InterfaceGuid']
        foreach ($value in @('TcpAckFrequency', 'TCPNoDelay')) {
            $one[$value] = [Microsoft.Win32.Registry]::GetValue($key, $value, $false)
        }
        $one
    }
}
Read-Frame 'tcp' {
    Select-Raw (Get-NetTCPSetting) @('SettingName', 'AutoTuningLevelLocal', 'AutoTuningLevelGroupPolicy', 'AutoTuningLevelEffective', 'CongestionProvider', 'DelayedAckFrequency', 'DelayedAckTimeout', 'EcnCapability', 'Timestamps', 'ScalingHeuristics', 'InitialCongestionWindow')
}
Read-Frame 'offload' {
    Select-Raw (Get-NetOffloadGlobalSetting) @('ReceiveSideScaling', 'ReceiveSegmentCoalescing', 'Chimney', 'TaskOffload', 'NetworkDirect')
}
Read-Frame 'smbclient' {
    Select-Raw (Get-SmbClientConfiguration) @('EnableMultiChannel', 'ConnectionCountPerRssNetworkInterface', 'EnableBandwidthThrottling', 'EnableLargeMtu', 'RequireSecuritySignature', 'EnableSecuritySignature')
}
Read-Frame 'smbserver' {
    Select-Raw (Get-SmbServerConfiguration) @('EnableMultiChannel', 'Smb2CreditsMin', 'Smb2CreditsMax', 'RequireSecuritySignature', 'EncryptData')
}
# Whose connections they are stays out.
Read-Frame 'smbconnections' {
    Select-Raw (Get-SmbConnection) @('ServerName', 'ShareName', 'Dialect', 'Encrypted', 'Signed')
}
Read-Frame 'power' {
    Select-Raw (Get-CimInstance -Namespace 'root\cimv2\power' -ClassName Win32_PowerPlan) @('InstanceID', 'IsActive')
}
Read-Frame 'bindings' {
    Select-Raw (Get-NetAdapterBinding) @('Name', 'ComponentID', 'Enabled')
}
# Only a host with the feature MPIO has this cmdlet.
Read-Frame 'mpio' {
    [ordered]@{ Policy = [string](Get-MSDSMGlobalDefaultLoadBalancePolicy) }
}
Read-Frame 'counters' {
    Select-Raw (Get-NetAdapterStatistics) @('Name', 'ReceivedBytes', 'SentBytes', 'ReceivedDiscardedPackets', 'ReceivedPacketErrors', 'OutboundDiscardedPackets', 'OutboundPacketErrors')
}
[Console]::Out.Write("linerate-frames end $frames`n")
