package report

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"linerate/internal/lab/labtest"
)

// TestInABrowser has one tab for all that is seen in it: to start a browser takes longer than to
// lay a page out.
func TestInABrowser(t *testing.T) {
	tab := chromium(t)
	t.Run("paper", func(t *testing.T) { paperIsWhole(t, tab) })
	t.Run("print", func(t *testing.T) { paperPrints(t, tab) })
	t.Run("pages", func(t *testing.T) { pagesAreLaidOut(t, tab) })
}

// chromium starts a browser with a tab.
func chromium(t *testing.T) (tab context.Context) {
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
	t.Cleanup(cancel)
	ctx, end := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-gpu", true), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(2*time.Minute))...)
	t.Cleanup(end)
	tab, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	return tab
}

// got opens a page in a tab and returns what an action makes of it.
func got[T any](t *testing.T, tab context.Context, file string, what chromedp.Action[T]) T {
	t.Helper()
	if _, err := chromedp.Run(tab, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	v, err := chromedp.Run(tab, what)
	if err != nil {
		t.Fatal(err)
	}
	return v
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

// pagesAreLaidOut lays every page out, on a wide and on a narrow screen: nothing is wider than the
// page, every drawing has a size, and no label lies over another or is cut off.
func pagesAreLaidOut(t *testing.T, tab context.Context) {
	all := cases()
	all["load"] = renderCase{loadRun(), nil, nil}
	for _, name := range []string{"study", "study-paper", "study-clients", "study-windows", "study-frames", "window", "load"} {
		page := render(t, all[name])
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(strings.Replace(csp.ReplaceAllString(page, ""), "</head>", surveyor+"</head>", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int64{1160, 400} {
			if _, err := chromedp.Run(tab, chromedp.EmulateViewport(size, 900)); err != nil {
				t.Fatal(err)
			}
			text := got(t, tab, file, chromedp.Evaluate[string](`document.getElementById("found").textContent`))
			var found struct {
				Width, Scroll, SVGs, Tables int
				Wrong                       []string
			}
			if err := json.Unmarshal([]byte(text), &found); err != nil {
				t.Fatal(err)
			}
			if found.SVGs != strings.Count(page, "<svg ") || found.Tables != strings.Count(page, "<table") || found.Tables == 0 && name != "load" {
				t.Errorf("%s at %d: %d drawings and %d tables, want %d and %d", name, size, found.SVGs, found.Tables, strings.Count(page, "<svg "), strings.Count(page, "<table"))
			}
			if found.Scroll > found.Width+1 {
				t.Errorf("%s at %d: the page is %d wide on a screen of %d", name, size, found.Scroll, found.Width)
			}
			for _, w := range found.Wrong[:min(len(found.Wrong), 12)] {
				t.Errorf("%s at %d: %s", name, size, w)
			}
		}
	}
}

// paperIsWhole looks at the page itself, with its own policy: every section is there.
func paperIsWhole(t *testing.T, tab context.Context) {
	file := filepath.Join(t.TempDir(), "paper.html")
	if err := os.WriteFile(file, []byte(render(t, cases()["study"])), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := got(t, tab, file, chromedp.OuterHTML(chromedp.CSS("html")))
	for _, title := range []string{"Recommended settings", "Set-up", "Method", "Effect of each change", "Processors against retransmits", "Rate over time", "CPU per core", "Latency", "The ladder",
		"What did nothing, cost something, or has no answer", "Noise: equal runs, discarded runs, drift", "What was changed and put back", "Threats to validity", "Every run", "Hosts", "Provenance"} {
		if !strings.Contains(dom, "<h2>"+title+"</h2>") {
			t.Errorf("no section %q", title)
		}
	}
}

// paperPrints prints the page: sheets start where they should, and what a screen folds is printed
// too. Its drawings take most of the time of printing and are left out: the text shows both.
func paperPrints(t *testing.T, tab context.Context) {
	page := regexp.MustCompile(`(?s)<svg .*?</svg>`).ReplaceAllString(render(t, cases()["study"]), "")
	pages := func(name, text string) int {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		pdf := got(t, tab, file, chromedp.PrintToPDF())
		return len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1))
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
