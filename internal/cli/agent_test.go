package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/site"
	"linerate/internal/report/docstest"
	"linerate/internal/report/document"
)

// runAgent executes a command of a machine that has neither a site nor a place in one.
func runAgent(t *testing.T, stdin string, args ...string) (code int, errs string) {
	t.Helper()
	dir := t.TempDir()
	var said bytes.Buffer
	env := &environment{
		Env: app.Env{Self: []string{"linerate"}, Now: time.Now, Getenv: func(k string) string { return map[string]string{"XDG_STATE_HOME": dir, "XDG_DATA_HOME": dir}[k] }},
		in:  strings.NewReader(stdin), out: document.NewScreen(io.Discard), err: document.NewScreen(&said),
	}
	root := rootCommand(env)
	root.SetArgs(args)
	return exitCode(t.Context(), env, root.ExecuteContext(t.Context())), said.String()
}

func TestAgentWithoutASite(t *testing.T) {
	for line, c := range map[string]struct {
		code int
		want string
	}{
		"agent list":                         {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"agent log":                          {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"agent token":                        {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"agent revoke nas1":                  {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"agent list --of lab":                {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"agent list --of La/b":               {ExitUsage, "small letters"},
		"agent status":                       {ExitNothing, "linerate agent enrol --token-file FILE"},
		"agent run":                          {ExitNothing, "linerate agent enrol --token-file FILE"},
		"agent enrol":                        {ExitUsage, "it does not begin with linerate-token-1."},
		"agent enrol linerate-token-1.x":     {ExitUsage, "every user of this host can read"},
		"agent enrol --token-file /nowhere":  {ExitUsage, "--token-file: open /nowhere"},
		"agent token --label role":           {ExitUsage, "want KEY=VALUE"},
		"agent token --hosts 0":              {ExitUsage, "--hosts 0: want 1 to 1000"},
		"agent token --hosts 1001":           {ExitUsage, "--hosts 1001: want 1 to 1000"},
		"agent token --hosts 2 --name nas1":  {ExitUsage, "only one host has a name"},
		"agent log --last 0":                 {ExitUsage, "--last 0: want 1 to"},
		"agent nonsense":                     {ExitUsage, "unknown command"},
		"tune plan --site all":               {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"tune undo --site all":               {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"watch --site":                       {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"watch --site role=dtn":              {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"check --site":                       {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"check --site role=dtn":              {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"watch --site nas1 nas2":             {ExitUsage, "name either nas1 or hosts of a site"},
		"watch --site --attach nas1:2049":    {ExitUsage, "not more than one of them"},
		"watch site:nas1":                    {ExitUsage, "name the other end too, or --site"},
		"watch lab:nas1":                     {ExitUsage, "name the other end too"},
		"serve lab:nas1":                     {ExitUsage, "name the other end too"},
		"tune plan nas1 --site all":          {ExitUsage, "name either nas1 or hosts of a site"},
		"tune plan --of lab":                 {ExitUsage, "give --site too"},
		"tune plan --site all --persist":     {ExitUsage, "as site:HOST"},
		"tune apply --site all --set sack=1": {ExitUsage, "give both --site and --waves"},
		"tune apply nas1 --waves":            {ExitUsage, "give both --site and --waves"},
		"tune undo --site all --to 3":        {ExitUsage, "as site:HOST"},
		"tune undo --site all --from-script": {ExitUsage, "as site:HOST"},
		"tune resume":                        {ExitNothing, "no change of many hosts is unfinished here"},
		"tune resume tune-1":                 {ExitUsage, "no change of many hosts is called tune-1"},
		"tune apply --site all --waves --set tcp_sack=1 --confirm-within 0": {ExitUsage, "--confirm-within 0"},
		"serve --nats nats":     {ExitUsage, "want embedded"},
		"serve --nats nats://a": {ExitUsage, "--site lab"},
		"serve --nats nats://a,b --site lab --nats-listen 10.0.0.5:4222": {ExitUsage, "leave it out"},
		"serve --nats nats://u:p@a --site lab":                           {ExitUsage, "without a user or password"},
		"serve --nats embedded":                                          {ExitUsage, "--site lab"},
		"serve --nats embedded --site":                                   {ExitUsage, "--site lab"},
		"serve --nats embedded --site lab --allow-change --history 0":    {ExitUsage, "leave out --allow-change, --history;"},
		"serve --site":                                             {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"serve --site role=dtn":                                    {ExitNothing, "linerate serve --nats embedded --site NAME"},
		"serve --site nas1 nas2":                                   {ExitUsage, "name either nas1 or hosts of a site"},
		"serve --site --attach nas1:2049":                          {ExitUsage, "not both"},
		"serve --of lab":                                           {ExitUsage, "give --site too"},
		"serve --nats embedded --site lab /mnt":                    {ExitUsage, "shows no page"},
		"serve --nats embedded --site lab --nats-listen 0.0.0.0:1": {ExitUsage, "the one address"},
	} {
		if code, errs := runAgent(t, "", strings.Fields(line)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %s; want %d, %s", line, code, errs, c.code, c.want)
		}
	}
}

func TestAgentFieldsAreDocumented(t *testing.T) {
	docstest.Fields(t, docstest.Section(t, "agent"), "linerate/", 20,
		site.Token{}, site.Enrolled{}, site.Status{}, site.List{}, site.Revoked{}, site.Log{})
}

func TestStateOfAHostIsInWords(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, h := range map[string]site.Host{
		"there":                              {Here: true},
		"there; its clock is off by -1h0m0s": {Here: true, Ahead: -time.Hour},
		"two agents have its identity (a, boot 1; b, boot 2): it is read, and not changed": {Here: true, Twins: []string{"a, boot 1", "b, boot 2"}},
		"stopped 1m0s ago":                                  {Ended: true, Heard: now.Add(-time.Minute)},
		"not heard since the site was started":              {},
		"silent since " + now.Local().Format(time.DateTime): {Heard: now},
	} {
		if got := hostState(h, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
