package report

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
)

// chromium renders a page headless and returns what it prints.
func chromium(t *testing.T, args ...string) []byte {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		labtest.Needs(t, "chromium")
	}
	labtest.Needs(t, "liberation", "dejavu") // pages were looked at with these
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--virtual-time-budget=5000"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s", path, args, err, errs.String())
	}
	return out.Bytes()
}

// surveyor is what a copy of a page gets, which alone may run scripts: it
// measures the page as it was laid out and leaves what it found in it.
const surveyor = `<script>
addEventListener("load", () => {
  const found = {width: innerWidth, scroll: document.documentElement.scrollWidth, svgs: 0, tables: document.querySelectorAll("table").length, wrong: []};
  for (const d of document.querySelectorAll("details")) d.open = true;
  for (const e of document.querySelectorAll("section,figure,figcaption,h1,h2,p,dl,dd,ul,li,.panels>div,.host")) {
    const r = e.getBoundingClientRect();
    if (r.right > innerWidth + 1 && !e.closest(".scroll")) found.wrong.push(e.tagName + "." + e.className + " is wider than the page: " + e.textContent.slice(0, 60));
  }
  for (const s of document.querySelectorAll("svg")) {
    found.svgs++;
    const box = s.getBoundingClientRect(), name = (s.querySelector("title") || {textContent: "?"}).textContent;
    if (box.width < 40 || box.height < 6) found.wrong.push(name + ": drawn " + box.width + " by " + box.height);
    const texts = [...s.querySelectorAll("text")].map(t => ({r: t.getBoundingClientRect(), s: t.textContent})).filter(t => t.s.trim());
    texts.forEach((t, i) => {
      if (t.r.left < box.left - 2 || t.r.right > box.right + 2 || t.r.top < box.top - 3 || t.r.bottom > box.bottom + 3) found.wrong.push(name + ": cut off: " + t.s);
      for (const u of texts.slice(i + 1)) {
        const w = Math.min(t.r.right, u.r.right) - Math.max(t.r.left, u.r.left), h = Math.min(t.r.bottom, u.r.bottom) - Math.max(t.r.top, u.r.top);
        if (w > 1 && h > 3) found.wrong.push(name + ": " + t.s + " lies over " + u.s);
      }
    });
  }
  const out = document.createElement("pre");
  out.id = "found";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
</script>`

var csp = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// TestPagesInABrowser lays every page out, on a wide and on a narrow screen:
// nothing is wider than the page, every drawing has a size, and no label lies
// over another or is cut off.
func TestPagesInABrowser(t *testing.T) {
	all := cases()
	all["load"] = renderCase{loadRun(), nil, nil}
	for _, name := range []string{"study", "study-paper", "study-clients", "study-windows", "study-frames", "window", "load"} {
		page := render(t, all[name])
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(strings.Replace(csp.ReplaceAllString(page, ""), "</head>", surveyor+"</head>", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, size := range []string{"1160,900", "400,900"} {
			dom := string(chromium(t, "--window-size="+size, "--dump-dom", "file://"+file))
			m := regexp.MustCompile(`(?s)<pre id="found">(.*?)</pre>`).FindStringSubmatch(dom)
			if m == nil {
				t.Fatalf("%s at %s: the page was not measured", name, size)
			}
			var found struct {
				Width, Scroll, SVGs, Tables int
				Wrong                       []string
			}
			if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &found); err != nil {
				t.Fatal(err)
			}
			if found.SVGs != strings.Count(page, "<svg ") || found.Tables != strings.Count(page, "<table") || found.Tables == 0 && name != "load" {
				t.Errorf("%s at %s: %d drawings and %d tables, want %d and %d", name, size, found.SVGs, found.Tables, strings.Count(page, "<svg "), strings.Count(page, "<table"))
			}
			if found.Scroll > found.Width+1 {
				t.Errorf("%s at %s: the page is %d wide on a screen of %d", name, size, found.Scroll, found.Width)
			}
			for _, w := range found.Wrong[:min(len(found.Wrong), 12)] {
				t.Errorf("%s at %s: %s", name, size, w)
			}
		}
	}
}

// TestThePaperInABrowser looks at the page itself, with its own policy: every
// section is there.
func TestThePaperInABrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "paper.html")
	if err := os.WriteFile(file, []byte(render(t, cases()["study"])), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := string(chromium(t, "--dump-dom", "file://"+file))
	for _, title := range []string{"Recommended settings", "Set-up", "Method", "Effect of each change", "Processors against retransmits", "Rate over time", "CPU per core", "Latency", "The ladder",
		"What did nothing, cost something, or has no answer", "Noise: equal runs, discarded runs, drift", "What was changed and put back", "Threats to validity", "Every run", "Hosts", "Provenance"} {
		if !strings.Contains(dom, "<h2>"+title+"</h2>") {
			t.Errorf("no section %q", title)
		}
	}
}

// TestThePaperPrints prints the page: sheets start where they should, and what
// a screen folds is printed too.
func TestThePaperPrints(t *testing.T) {
	page := render(t, cases()["study"])
	pages := func(name, page string) int {
		dir := t.TempDir()
		file, pdf := filepath.Join(dir, name+".html"), filepath.Join(dir, name+".pdf")
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		chromium(t, "--no-pdf-header-footer", "--print-to-pdf="+pdf, "file://"+file)
		b, err := os.ReadFile(pdf)
		if err != nil {
			t.Fatal(err)
		}
		return len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(b, -1))
	}
	whole := pages("whole", page)
	unfolded := pages("unfolded", regexp.MustCompile(`(?s)<details>.*?</details>`).ReplaceAllString(page, ""))
	if whole < 8 || unfolded >= whole-3 {
		t.Errorf("%d pages, and %d without what a screen folds: it is not printed", whole, unfolded)
	}
	if sheets := strings.Count(page, `class="sheet"`); unfolded <= sheets {
		t.Errorf("%d pages for %d sections that start a sheet", unfolded, sheets)
	}
}
