"use strict";
// The timeline of one path: what it carried, what was shown to hold it back, what changed.
(() => {
  const minute = 60e3, hour = 60 * minute, day = 24 * hour;
  const stretches = [["10 s", 10e3], ["1 min", minute], ["10 min", 10 * minute], ["1 hour", hour], ["6 hours", 6 * hour], ["1 day", day], ["1 week", 7 * day], ["1 month", 30 * day], ["1 year", 365 * day]];
  const ns = "http" + "://www.w3.org/2000/svg"; // a name, never fetched
  const svg = (name, attrs, ...parts) => {
    const e = document.createElementNS(ns, name);
    for (const k in attrs) e.setAttribute(k, attrs[k]);
    e.append(...parts);
    return e;
  };
  let stretch = 10 * minute, end = 0, path = "", data = null, at = -1; // end 0: now
  let run = ""; // whose samples are shown in place of the history
  const box = document.getElementById("timeline");
  const chart = el("div", "chart"), said = el("p", "small"), list = el("div", "scroll"), notes = el("p", "small");
  said.setAttribute("role", "status");
  chart.tabIndex = 0;
  chart.setAttribute("role", "img");
  const bar = el("div", "zoom");
  const zooms = stretches.map(([name, ms]) => {
    const b = el("button", "", name);
    b.onclick = () => { zoom(ms); };
    bar.append(b);
    return b;
  });
  // What is longer than a run leads back to the history around it.
  let whole = 0;
  const zoom = (ms) => {
    if (run && ms > whole) run = "";
    stretch = ms;
    at = -1;
    load();
  };
  const move = (name, label, by) => {
    const b = el("button", "", name);
    b.setAttribute("aria-label", label);
    b.onclick = () => { pan(by); };
    bar.append(b);
  };
  const pan = (by) => {
    end = by === 0 ? 0 : Math.min(Date.now(), (end || Date.now()) + by * stretch / 2);
    if (Date.now() - end < 2000) end = 0;
    if (!end) run = "";
    load();
  };
  move("◀", "earlier", -1);
  move("▶", "later", 1);
  move("now", "to now", 0);
  const table_ = el("details", "", el("summary", "", "The same as a table"), list);
  const legend = el("p", "small legend");
  for (const [cls, text] of [["well", "at its ceiling"], ["host", "held back by a host"], ["net", "by the path"], ["storage", "by storage"], ["app", "by the application"],
    ["cannot", "cannot tell"], ["idle", "idle, unused or starting"], ["gone", "stale or lost"]])
    legend.append(el("span", "pair", el("span", "key band-" + cls), text), " ");
  legend.append(el("span", "pair", "▼ a change"));
  box.append(bar, chart, legend, said, table_, notes);

  const kind = (s) => {
    if (s.state === "cannot tell") return "cannot";
    if (s.state === "stale" || s.state === "lost") return "gone";
    if (s.state !== "moving") return "idle";
    if (s.limiter === "none") return "well";
    return { sender: "host", receiver: "host", path: "net", "server storage": "storage", application: "app" }[s.where] || "net";
  };
  const time = (ms) => {
    const t = new Date(ms);
    return stretch > 2 * day ? t.toLocaleDateString() : t.toLocaleTimeString();
  };
  const full = (t) => new Date(t).toLocaleString();
  const describe = (r) => full(r.at) + ": " + (r.goodput_bps === null ? "not known" : rate(r.goodput_bps)) + (r.share_of_ceiling === null ? "" : ", " + share(r.share_of_ceiling) + " of its ceiling") +
    "; " + r.shown.map((s) => words(s) + " " + share(s.for / r.seen)).join(", ");
  const draw = () => {
    const W = Math.max(280, chart.clientWidth), H = 190, left = 76, top = 14, low = 130, band = 144;
    const from = Date.parse(data.from), to = Date.parse(data.to);
    const x = (ms) => left + (W - left - 4) * (ms - from) / (to - from);
    const most = Math.max(1, ...data.rows.map((r) => Math.max(r.goodput_bps || 0, r.ceiling_bps || 0)));
    const y = (v) => low - (low - top) * v / most;
    const s = svg("svg", { viewBox: "0 0 " + W + " " + H, width: W, height: H, "aria-hidden": "true" });
    for (const part of [0, 0.5, 1]) {
      s.append(svg("line", { x1: left, x2: W - 4, y1: y(part * most), y2: y(part * most), class: "grid" }),
        svg("text", { x: left - 6, y: y(part * most) + 4, "text-anchor": "end" }, rate(part * most)));
    }
    const step = W < 400 ? 1 : W < 560 ? 2 : 4;
    for (let i = 0; i <= step; i++) {
      s.append(svg("text", { x: x(from + (to - from) * i / step), y: H - 4, class: "time", "text-anchor": i === 0 ? "start" : i === step ? "end" : "middle" }, time(from + (to - from) * i / step)));
    }
    // A line ends where the next row does not follow: what was not seen is not drawn.
    for (const [field, cls] of [["ceiling_bps", "ceiling"], ["goodput_bps", "goodput"]]) {
      let d = "", before = NaN;
      for (const r of data.rows) {
        const a = Date.parse(r.at), b = a + r.span / 1e6;
        if (r[field] === null) { before = NaN; continue; }
        const v = y(r[field]).toFixed(1);
        d += (Math.abs(a - before) < 1 ? "L" : "M") + x(a).toFixed(1) + " " + v + "L" + x(b).toFixed(1) + " " + v;
        before = b;
      }
      s.append(svg("path", { d: d, class: cls }));
    }
    let open = null;
    const put = () => {
      if (!open) return;
      const r = svg("rect", { x: x(open.a), y: band, width: Math.max(1, x(open.b) - x(open.a)), height: 18, class: "band-" + open.kind });
      r.append(svg("title", {}, open.text));
      s.append(r);
      const room = Math.floor((x(open.b) - x(open.a) - 8) / 6.4);
      const name = open.text.length > room ? open.text.slice(0, Math.max(0, room - 1)) + "…" : open.text;
      if (name.length > 6) s.append(svg("text", { x: x(open.a) + 4, y: band + 13, class: "onband" }, name));
    };
    for (const r of data.rows) {
      const a = Date.parse(r.at), b = a + r.span / 1e6, top = r.shown[0];
      if (!top) continue;
      if (open && open.text === words(top) && Math.abs(a - open.b) < 1) { open.b = b; continue; }
      put();
      open = { a: a, b: b, text: words(top), kind: kind(top) };
    }
    put();
    for (const m of data.marks) {
      const mx = x(Date.parse(m.at));
      const t = svg("path", { d: "M" + (mx - 5) + " 1h10l-5 9z", class: "mark" });
      t.append(svg("title", {}, markText(m)));
      s.append(t, svg("line", { x1: mx, x2: mx, y1: 10, y2: band + 18, class: "markline" }));
    }
    if (at >= 0 && data.rows[at]) {
      const r = data.rows[at], mid = x(Date.parse(r.at) + r.span / 2e6);
      s.append(svg("line", { x1: mid, x2: mid, y1: top, y2: band + 18, class: "cursor" }));
      said.textContent = describe(r);
    } else said.textContent = data.rows.length ? "" : "Nothing was seen in this time.";
    chart.replaceChildren(s);
    chart.setAttribute("aria-label", (run ? "run " + run : path) + " from " + full(data.from) + " to " + full(data.to) + ": " + data.rows.length + " values; the arrow keys read them");
  };
  const markText = (m) => full(m.at) + "  " + { tuned: "linerate set ", undone: "linerate took back ", changed: "", run: "ran linerate " }[m.kind] + m.what + (m.host ? " on " + m.host : "") +
    (m.kind === "run" ? "" : ": " + (m.from || "–") + " → " + (m.to || "–"));
  const markItem = (m) => {
    const item = el("li", "", markText(m));
    if (m.kind === "run" && m.to) { // its report has the samples of 100 ms
      const a = el("a", "", "report");
      a.href = "runs/" + encodeURIComponent(m.to);
      const fine = el("button", "", "samples");
      fine.onclick = () => { open(m.to); };
      item.append(" ", a, " ", fine);
    }
    return item;
  };
  const fill = () => {
    list.replaceChildren(table(["time", "carried", "least", "most", "of its ceiling", "RTT median", "RTT 99%", "resent", "shown"], data.rows.slice(-200).reverse().map((r) => [
      full(r.at), r.goodput_bps === null ? "–" : rate(r.goodput_bps), r.least_bps === null ? "–" : rate(r.least_bps), r.most_bps === null ? "–" : rate(r.most_bps),
      share(r.share_of_ceiling), r.rtt_p50 === null ? "–" : span(r.rtt_p50), r.rtt_p99 === null ? "–" : span(r.rtt_p99), share(r.resent_share),
      r.shown.map((s) => words(s) + " " + share(s.for / r.seen)).join(", ")])));
    document.getElementById("marks").replaceChildren(...(data.marks.length ? [...data.marks].reverse().slice(0, 50).map(markItem) : [el("li", "", "nothing that was seen")]));
    notes.textContent = (run ? "Run " + run + ", by its samples (" + span(data.width) + "). " : "") + data.problems.join("; ") + (data.left_out ? " " + data.left_out + " older changes are left out." : "");
  };
  let asked = 0;
  const open = (id) => {
    run = id;
    end = whole = 0;
    at = -1;
    load();
    chart.focus();
  };
  const query = () => {
    if (run && !whole) return "runs/" + encodeURIComponent(run) + "/samples";
    const to = end || Date.now();
    const q = new URLSearchParams({ path: path, from: new Date(to - stretch).toISOString(), to: new Date(to).toISOString() });
    return run ? "runs/" + encodeURIComponent(run) + "/samples?" + q : "history?" + q;
  };
  const load = async () => {
    zooms.forEach((b, i) => b.setAttribute("aria-pressed", stretches[i][1] === stretch));
    if (!path) return;
    const mine = ++asked;
    try {
      const r = await fetch(query());
      if (!r.ok) throw new Error(await r.text());
      const got = await r.json();
      if (mine !== asked) return;
      data = got;
      if (run && !whole) {
        end = Date.parse(data.to);
        stretch = whole = Math.max(1, end - Date.parse(data.from));
        zooms.forEach((b) => b.setAttribute("aria-pressed", false));
      }
      if (at >= data.rows.length) at = -1;
      draw();
      fill();
    } catch (e) {
      if (mine === asked) notes.textContent = "the timeline is not up to date: " + e.message;
    }
  };
  chart.onkeydown = (e) => {
    if (!data) return;
    const n = data.rows.length;
    if (e.key === "ArrowLeft") at = at < 0 ? n - 1 : Math.max(0, at - 1);
    else if (e.key === "ArrowRight") at = at < 0 ? 0 : Math.min(n - 1, at + 1);
    else if (e.key === "Home") at = 0;
    else if (e.key === "End") at = n - 1;
    else if (e.key === "+" || e.key === "-") {
      const next = e.key === "+" ? stretches.findLast((z) => z[1] < stretch) : stretches.find((z) => z[1] > stretch);
      if (next) zoom(next[1]);
    } else return;
    e.preventDefault();
    draw();
  };
  chart.onpointermove = (e) => {
    if (!data || !data.rows.length) return;
    const W = Math.max(280, chart.clientWidth), from = Date.parse(data.from), to = Date.parse(data.to);
    const t = from + (to - from) * (e.offsetX - 76) / (W - 80);
    at = data.rows.findIndex((r) => Date.parse(r.at) <= t && t < Date.parse(r.at) + r.span / 1e6);
    draw();
  };
  window.timelineOf = (chosen) => {
    if (path === chosen) return;
    path = chosen;
    if (run) return; // samples of a run are no path's
    at = -1;
    load();
  };
  setInterval(() => { if (!end) load(); }, 2000);
  window.addEventListener("resize", () => { if (data) draw(); });
})();
