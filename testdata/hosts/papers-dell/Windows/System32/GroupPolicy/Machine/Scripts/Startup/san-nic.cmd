rem table 6: Broadcom BCM57810, NDIS mode, adapter
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -DisplayName "Jumbo packet" -DisplayValue "9614"
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -DisplayName "Receive buffers" -DisplayValue "3000"
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -DisplayName "TCP Connection Offload" -DisplayValue "Enabled"
powershell Set-NetAdapterAdvancedProperty -Name SAN1 -DisplayName "Transmit Buffers" -DisplayValue "5000"
rem table 7: Broadcom BCM57810, NDIS mode, Windows TCP (Chimney Offload State, Enabled)
netsh int tcp set global chimney=enabled
rem table 8: Broadcom BCM57810, iSOE mode
powershell Set-NetAdapterAdvancedProperty -Name SAN2 -DisplayName "Flow control" -DisplayValue "Rx & Tx enabled"
powershell Set-NetAdapterAdvancedProperty -Name SAN2 -DisplayName "MTU" -DisplayValue "9600"
rem table 9: Intel X520
powershell Set-NetAdapterAdvancedProperty -Name SAN3 -DisplayName "Jumbo packet" -DisplayValue "Enabled"
powershell Set-NetAdapterAdvancedProperty -Name SAN3 -DisplayName "Receive Buffers" -DisplayValue "4096"
powershell Set-NetAdapterAdvancedProperty -Name SAN3 -DisplayName "Transmit Buffers" -DisplayValue "16384"
rem appendix B.8
reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{guid} /v TcpAckFrequency /t REG_DWORD /d 1
reg add HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{guid} /v TcpNoDelay /t REG_DWORD /d 1
