package main

import (
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // nfpm knows a kind of package by its import
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // likewise
)

// pack makes a deb or an rpm.
func (r *release) pack(kind string, t target) error {
	contents, err := r.installed(kind, t)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "linerate", Arch: t.arch, Platform: "linux", Version: r.version, VersionSchema: "none",
		Section: "admin", Priority: "optional", Maintainer: "linerate <linerate@linerate.invalid>", License: "Apache-2.0",
		MTime: r.date,
		Description: "finds what keeps networked storage from running at line rate\n" +
			"It looks at hosts, names what limits an NFS, SMB, iSCSI or TCP path, changes\n" +
			"that reversibly, and proves the gain.",
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(r.root, "release", "after-install.sh"),
				PreRemove:   filepath.Join(r.root, "release", "before-remove.sh"),
				PostRemove:  filepath.Join(r.root, "release", "after-remove.sh"),
			},
			RPM: nfpm.RPM{BuildHost: "linerate", Summary: "finds what keeps networked storage from running at line rate"},
		},
	})
	if kind == "rpm" {
		info.Release = "1"
	}
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	name := packager.ConventionalFileName(info)
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	r.add(name)
	return errors.Join(packager.Package(info, f), f.Close())
}

// installed are the files that a package brings.
func (r *release) installed(kind string, t target) (files.Contents, error) {
	zsh := "/usr/share/zsh/vendor-completions/_linerate"
	if kind == "rpm" {
		zsh = "/usr/share/zsh/site-functions/_linerate"
	}
	at := map[string]string{
		"/usr/share/bash-completion/completions/linerate":    filepath.Join(r.work, "linerate.bash"),
		"/usr/share/fish/vendor_completions.d/linerate.fish": filepath.Join(r.work, "linerate.fish"),
		"/usr/share/doc/linerate/copyright":                  filepath.Join(r.root, "LICENSE"),
		"/usr/share/doc/linerate/README.md":                  filepath.Join(r.root, "README.md"),
		"/usr/lib/sysusers.d/linerate.conf":                  filepath.Join(r.root, "release", "sysusers.conf"),
		zsh:                                                  filepath.Join(r.work, "_linerate"),
	}
	for _, unit := range []string{"linerate-serve.service", "linerate-agent.service", "linerate-site@.service"} {
		at["/usr/lib/systemd/system/"+unit] = filepath.Join(r.root, "release", unit)
	}
	docs, err := filepath.Glob(filepath.Join(r.root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		at["/usr/share/doc/linerate/docs/"+filepath.Base(d)] = d
	}
	pages, err := filepath.Glob(filepath.Join(r.work, "man", "*.1"))
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		if err := r.squeeze(p); err != nil {
			return nil, fmt.Errorf("compress manual page: %w", err)
		}
		at["/usr/share/man/man1/"+filepath.Base(p)+".gz"] = p + ".gz"
	}
	var all files.Contents
	for _, p := range programs(t) {
		all = append(all, r.content(r.built(t, p), "/usr/bin/"+p, 0o755))
	}
	for to, from := range at {
		all = append(all, r.content(from, to, 0o644))
	}
	return all, nil
}

func (r *release) content(from, to string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.date}}
}

// squeeze compresses a page beside itself; no name or date enters.
func (r *release) squeeze(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	return errors.Join(z.Close(), os.WriteFile(path+".gz", b.Bytes(), 0o644))
}

// partsList writes which modules a binary was made of, from what the Go tool recorded in it, as
// CycloneDX.
func (r *release) partsList(t target, program string) error {
	info, err := buildinfo.ReadFile(r.built(t, program))
	if err != nil {
		return fmt.Errorf("read what was built: %w", err)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.date.Format("2006-01-02T15:04:05Z"),
		Component: &cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication, BOMRef: program, Name: program, Version: r.version},
	}
	parts := []cyclonedx.Component{{Type: cyclonedx.ComponentTypeLibrary, BOMRef: "std", Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + info.GoVersion}}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		purl := "pkg:golang/" + d.Path + "@" + d.Version
		parts = append(parts, cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: purl, Name: d.Path, Version: d.Version, PackageURL: purl})
	}
	bom.Components = &parts
	name := fmt.Sprintf("%s_%s_%s_%s.cdx.json", program, r.version, t.os, t.arch)
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return fmt.Errorf("make parts list: %w", err)
	}
	r.add(name)
	encoder := cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	return errors.Join(encoder.Encode(bom), f.Close())
}
