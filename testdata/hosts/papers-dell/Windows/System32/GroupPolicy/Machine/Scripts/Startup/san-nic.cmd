rem BCM57810, tables 6 and 7
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -RegistryKeyword "*JumboPacket" -RegistryValue 9614
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -RegistryKeyword "*FlowControl" -RegistryValue 3
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -RegistryKeyword "*ReceiveBuffers" -RegistryValue 3000
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -RegistryKeyword "*TransmitBuffers" -RegistryValue 5000
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -DisplayName "TCP Connection Offload" -DisplayValue Enabled
netsh int tcp set global chimney=enabled
rem appendix B.8
reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{guid} /v TcpAckFrequency /t REG_DWORD /d 1
reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{guid} /v TcpNoDelay /t REG_DWORD /d 1
