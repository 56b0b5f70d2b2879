package winhost

import (
	"fmt"

	"linerate/internal/systems/fake/powershell"
)

// policyError is that of a PowerShell which an execution policy forbids to run a script's file. It
// ends with code 1.
type policyError struct{ said string }

// Error implements error.
func (e *policyError) Error() string { return e.said }

// refusal is what Windows PowerShell prints then, wrapped at 80 columns; only the name of the help
// topic, the link and the names of types are the same in all languages.
func refusal(path string, english bool) string {
	if english {
		return fmt.Sprintf("File %s cannot be loaded because running scripts is\r\ndisabled on this system. For more information, see about_Execution_Polic\r\nies at https:/go.microsoft.com/fwlink/?LinkID=135170.\r\n    + CategoryInfo          : SecurityError: (:) [], ParentContainsErrorRecordException\r\n    + FullyQualifiedErrorId : UnauthorizedAccess\r\n", path)
	}
	return fmt.Sprintf("Die Datei \"%s\" kann nicht geladen werden, da die Ausf\x81hrung von\r\nSkripts auf diesem System deaktiviert ist. Weitere Informationen finden Sie unter \"about_Execution_Polic\r\nies\" (https:/go.microsoft.com/fwlink/?LinkID=135170).\r\n    + CategoryInfo          : Sicherheitsfehler: (:) [], ParentContainsErrorRecordException\r\n    + FullyQualifiedErrorId : UnauthorizedAccess\r\n", path)
}

// forbidden is that of a cmdlet whose module's script the policy refuses.
func forbidden(english bool) *powershell.Error {
	said := "Die Datei \"NetAdapter.psm1\" kann nicht geladen werden, da die Ausführung von Skripts auf diesem System deaktiviert ist. Weitere Informationen: about_Execution_Policies"
	if english {
		said = "File NetAdapter.psm1 cannot be loaded because running scripts is disabled on this system. For more information, see about_Execution_Policies"
	}
	return &powershell.Error{Message: said, Type: "System.Management.Automation.PSSecurityException", Category: "SecurityError", ID: "UnauthorizedAccess"}
}

func (h *Host) unloadable(name string) *powershell.Error {
	return &powershell.Error{
		Message: fmt.Sprintf(h.in("Der Befehl %q wurde im Modul gefunden, das Modul konnte aber nicht geladen werden.", "The %q command was found in the module, but the module could not be loaded."), name),
		Type:    "System.Management.Automation.CommandNotFoundException", Category: "ObjectNotFound", ID: "CouldNotAutoLoadModule",
	}
}

// executionPolicy is that of one scope.
func (h *Host) executionPolicy(args map[string]any) ([]any, error) {
	if powershell.Text(args["scope"]) != "MachinePolicy" {
		return nil, powershell.Errorf("Ungültiger Bereich")
	}
	return []any{h.setting("policy", "Undefined")}, nil
}
