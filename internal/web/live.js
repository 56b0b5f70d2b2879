"use strict";
// What hosts say is text, and stays text: nothing here makes markup of it.
const el = (name, cls, ...parts) => {
  const e = document.createElement(name);
  if (cls) e.className = cls;
  e.append(...parts);
  return e;
};
const rate = (bps) => {
  const units = [["Tbit/s", 1e12], ["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]];
  for (const [unit, size] of units) if (bps >= size) return Number((bps / size).toPrecision(3)) + " " + unit;
  return Math.round(bps) + " bit/s";
};
const span = (ns) => {
  if (ns >= 1e9) return Number((ns / 1e9).toPrecision(3)) + " s";
  if (ns >= 1e6) return Number((ns / 1e6).toPrecision(3)) + " ms";
  return Math.round(ns / 1e3) + " µs";
};
const share = (v) => (v === null || v === undefined ? "–" : Math.round(100 * v) + "%");
const clock = (at) => {
  const t = el("time", "", new Date(at).toLocaleTimeString());
  t.dateTime = at;
  return t;
};
// Glyph and word say what the colour says, for those who do not see it.
const words = (n) => {
  if (n.state !== "moving") return { starting: "◌ starting", "cannot tell": "? cannot tell", idle: "– idle", unused: "– unused", stale: "✕ stale", lost: "✕ lost" }[n.state] || n.state;
  if (n.limiter === "none") return "● at its ceiling";
  return "▲ " + n.limiter + " at " + (n.at_host || n.where);
};
// A path whose application asks for no more is not slow.
const ofApplication = new Set(["application-source", "application-sink"]);
const grade = (p) => {
  if (p.shown.state === "stale" || p.shown.state === "lost") return "old";
  if (p.shown.state !== "moving" || ofApplication.has(p.shown.limiter) || !p.ceiling_bps) return "";
  const of = p.goodput_bps / p.ceiling_bps;
  return of >= 0.9 ? "well" : of >= 0.5 ? "part" : "little";
};
const drawPath = (p) => {
  const box = el("div", "path " + grade(p), el("h3", "", p.path));
  let state = words(p.shown);
  if (p.shown.state === "moving") state += ", confidence " + share(p.verdict.confidence);
  const for_ = Math.round((new Date(p.at) - new Date(p.since)) / 1000);
  if (for_ > 0) state += ", for " + for_ + " s";
  box.append(el("p", "state", state));
  if (p.found) box.append(el("p", "small", "now: " + words(p.found) + ", " + p.found_times + " times in a row"));
  if (p.shown.state === "moving" || p.shown.state === "cannot tell") {
    const bar = el("div", "bar", el("span"));
    const of = p.ceiling_bps ? p.goodput_bps / p.ceiling_bps : 0;
    bar.firstChild.style.width = Math.min(100, 100 * of) + "%";
    box.append(bar, el("p", "numbers", rate(p.goodput_bps) + (p.ceiling_bps ? " of " + rate(p.ceiling_bps) + ", " + share(of) : " (ceiling not known)")));
  }
  box.append(el("p", "line", p.verdict.line || p.why || ""));
  return box;
};
const table = (head, rows) => {
  const t = el("table", "", el("thead", "", el("tr", "", ...head.map((h) => el("th", "", h)))));
  t.append(el("tbody", "", ...rows.map((r) => el("tr", "", ...r.map((c) => el("td", "", c))))));
  return el("div", "scroll", t);
};
const drawConns = (pictures) => {
  const rows = pictures.flatMap((p) => p.conns).slice(0, 50).map((c) => [
    c.local + " → " + c.remote, rate(c.out_bps), rate(c.in_bps), span(c.rtt), Number((100 * c.resent_share).toPrecision(2)) + "%",
    share(c.receive_window_share), share(c.send_buffer_share), share(c.path_share), share(c.application_share)]);
  if (!rows.length) return el("p", "small", "none");
  return table(["connection", "out", "in", "RTT", "resent", "receive window", "send buffer", "path", "application"], rows);
};
const modes = ["user", "system", "softirq", "steal"];
const drawHost = (h) => {
  const box = el("div", "host", el("h3", "", h.name + (h.stale ? " – stale: what follows is old" : "")));
  const cores = el("div", "cores");
  for (const c of h.cores) {
    const bar = el("div", "core");
    bar.title = "core " + c.cpu + ": " + modes.map((m) => m + " " + share(c[m])).join(", ");
    for (const m of [...modes].reverse()) {
      const part = el("i", m);
      part.style.height = 100 * c[m] + "%";
      bar.append(part);
    }
    cores.append(bar);
  }
  const key = el("p", "small", "cores:");
  for (const m of modes) key.append(el("span", "key " + m), m);
  box.append(key, cores);
  if (h.nics.length) box.append(table(["interface", "in", "out", "drops/s", "errors/s", "pause frames/s"],
    h.nics.map((n) => [n.name, rate(n.in_bps), rate(n.out_bps), Number(n.drops_per_second.toPrecision(3)), Number(n.errors_per_second.toPrecision(3)),
      n.pause_frames_per_second === null ? "–" : Number(n.pause_frames_per_second.toPrecision(3))])));
  if (h.requests) box.append(table(["request", "per second", "mean time", "queued before"],
    h.requests.map((o) => [o.name, Number(o.per_second.toPrecision(4)), span(o.mean_time), o.mean_queue ? span(o.mean_queue) : "–"])));
  return box;
};
const drawEvent = (e) => {
  let text = e.path + ": " + words(e.to);
  if (e.from.state && e.from.state !== "starting") text += " (before: " + words(e.from) + ")";
  return el("li", "", clock(e.at), text + (e.line ? ". " + e.line : ""));
};
const put = (id, ...parts) => document.getElementById(id).replaceChildren(...parts);
let heard = 0;
const draw = (m) => {
  heard = Date.now();
  put("paths", ...(m.pictures.length ? m.pictures.map(drawPath) : [el("p", "small", "no path yet")]));
  put("conns", drawConns(m.pictures));
  const hosts = new Map();
  for (const p of m.pictures) for (const h of p.hosts) hosts.set(h.name, h);
  put("hosts", ...[...hosts.values()].map(drawHost));
  document.getElementById("history").textContent = m.history;
  if (window.timelinePaths) window.timelinePaths(m.pictures.map((p) => p.path));
  put("events", ...[...m.events].reverse().map(drawEvent));
};
const link = document.getElementById("link");
const tell = () => {
  const old = heard ? Math.round((Date.now() - heard) / 1000) : 0;
  const lost = !heard || old > 3;
  link.className = lost ? "lost" : "";
  link.textContent = lost ? (heard ? "nothing heard for " + old + " s: what is below is old" : "connecting …") : "live";
  document.querySelector("main").style.opacity = lost && heard ? 0.5 : 1;
};
setInterval(tell, 500);
// The browser reaches for the stream again by itself.
new EventSource("events").onmessage = (e) => {
  draw(JSON.parse(e.data));
  tell();
};
