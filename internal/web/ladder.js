"use strict";
// The ladder of one path, as the kept run that last climbed it measured it: what is possible of each
// part of the way, and what was reached.
(() => {
  const box = document.getElementById("ladder");
  let path = "", asked = 0;
  // As reports do it: the path's ceiling with some room. Memory moves many times that.
  const scaleOf = (l) => {
    if (l.ceiling_bps) return 1.15 * l.ceiling_bps;
    const of = (all) => Math.max(0, ...all.filter((r) => r.seen).flatMap((r) => [r.measured_bps || 0, r.ceiling_bps || 0]));
    return 1.05 * (of(l.rungs.filter((r) => r.rung !== "memory" && r.rung !== "local loopback")) || of(l.rungs));
  };
  const seen = (r) => r.seen && r.measured_bps !== null;
  // On a narrow screen a table is scrolled; what stands below it is read without that.
  const unseen = (r) => el("li", "", el("b", "", r.rung), " not measured" + (r.how ? (r.tried ? ": " : "; to see it: ") + r.how : ""));
  const row = (r, scale) => {
    const bar = el("div", "bar", el("span"));
    bar.firstChild.style.width = Math.min(100, 100 * r.measured_bps / scale) + "%";
    return el("tr", "", el("td", "", r.rung), el("td", "", bar), ...[rate(r.measured_bps), r.ceiling_bps ? rate(r.ceiling_bps) : "not known",
      r.ceiling_bps ? share(r.measured_bps / r.ceiling_bps) : "–", r.predicted_bps === null ? "–" : rate(r.predicted_bps)].map((t) => el("td", "", t)));
  };
  const draw = (l) => {
    if (!l.run) {
      box.replaceChildren(el("h3", "", "Ladder"), el("p", "small", l.why));
      return;
    }
    const a = el("a", "", "linerate " + l.command), scale = scaleOf(l);
    a.href = "runs/" + encodeURIComponent(l.run);
    const t = el("table", "", el("thead", "", el("tr", "", ...["rung", "", "measured", "ceiling", "of it", "predicted"].map((h) => el("th", "", h)))),
      el("tbody", "", ...l.rungs.filter(seen).map((r) => row(r, scale))));
    box.replaceChildren(el("h3", "", "Ladder"), el("p", "small", "not live: measured " + new Date(l.at).toLocaleString() + " by ", a), el("div", "scroll", t), el("ul", "old", ...l.rungs.filter((r) => !seen(r)).map(unseen)));
  };
  const load = async () => {
    if (!path) return;
    const mine = ++asked;
    try {
      const r = await fetch("ladder?path=" + encodeURIComponent(path));
      if (!r.ok) throw new Error(await r.text());
      const got = await r.json();
      if (mine === asked) draw(got);
    } catch (e) {
      if (mine === asked) box.replaceChildren(el("p", "small", "the ladder is not known: " + e.message));
    }
  };
  window.ladderOf = (chosen) => {
    if (path === chosen) return;
    path = chosen;
    box.replaceChildren();
    load();
  };
  setInterval(load, 60e3);
})();
