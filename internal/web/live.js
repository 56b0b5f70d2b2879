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
const amount = (b) => (b >= 1 << 20 ? Number((b / (1 << 20)).toPrecision(3)) + " MiB" : b >= 1024 ? Number((b / 1024).toPrecision(3)) + " KiB" : b + " B");
const span = (ns) => {
  if (ns >= 1e9) return Number((ns / 1e9).toPrecision(3)) + " s";
  if (ns >= 1e6) return Number((ns / 1e6).toPrecision(3)) + " ms";
  return Math.round(ns / 1e3) + " µs";
};
const lasted = (s) => (s < 120 ? s + " s" : s < 7200 ? Math.round(s / 60) + " min" : s < 48 * 3600 ? Math.round(s / 3600) + " h" : Math.round(s / 86400) + " days");
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
// What a path carries, in words, and the share of its ceiling to draw it by.
const carries = (p) => {
  if (p.shown.state !== "moving" && p.shown.state !== "cannot tell") return [0, ""];
  const of = p.ceiling_bps ? p.goodput_bps / p.ceiling_bps : 0;
  return [of, rate(p.goodput_bps) + (p.ceiling_bps ? " of " + rate(p.ceiling_bps) + ", " + share(of) : " (ceiling not known)")];
};
const drawPath = (p) => {
  const box = el("div", "path " + grade(p), el("h3", "", p.path));
  let state = words(p.shown);
  if (p.shown.state === "moving") state += ", confidence " + share(p.verdict.confidence);
  const v = p.verdict;
  if (p.shown.state === "cannot tell" && v.limiter && v.limiter !== "undetermined" && v.confidence < 0.5) state += "; likeliest is " + v.limiter + ", confidence " + share(v.confidence);
  const for_ = Math.round((new Date(p.at) - new Date(p.since)) / 1000);
  if (for_ > 0) state += ", for " + lasted(for_);
  box.append(el("p", "state", state));
  if (p.judged) box.append(el("p", "small", "as judged at " + new Date(p.judged).toLocaleTimeString() + ", from samples of 100 ms; it is being looked at closely again"));
  if (p.found) box.append(el("p", "small", "now: " + words(p.found) + ", " + p.found_times + " times in a row"));
  const [of, numbers] = carries(p);
  if (numbers) {
    const bar = el("div", "bar", el("span"));
    bar.firstChild.style.width = Math.min(100, 100 * of) + "%";
    bar.hidden = !p.ceiling_bps; // a share of what is not known is none, not 0%
    box.append(bar, el("p", "numbers", numbers + (p.ceiling_bps ? "" : ": --line-rate states what the link can carry")));
  }
  box.append(el("p", "line", p.verdict.line || p.why || ""), drawWay(p));
  const proofs = p.verdict.evidence || [];
  if (proofs.length) {
    const d = el("details", "", el("summary", "", "Evidence"), el("ul", "", ...proofs.map((e) => el("li", "", e.what + (e.host ? " (" + e.host + ", " : " (") + "n = " + e.n + ")"))));
    d.open = proofsOpen;
    d.ontoggle = () => { proofsOpen = d.open; };
    box.append(d);
  }
  return box;
};
let proofsOpen = false;
// The stations of a path from where data comes to where it goes, that which holds it back marked.
// Of a path seen from one end only the other is what its name says.
const drawWay = (p) => {
  const sends = p.conns.find((c) => c.out_bps > c.in_bps), most = p.conns[0];
  const names = p.hosts.map((h) => h.name);
  let from = names[0] || "", to = names[1] || (most ? most.remote : "the other end");
  if (names[1] ? sends && sends.host === names[1] : most && most.in_bps > most.out_bps) [from, to] = [to, from];
  const stale = new Set(p.hosts.filter((h) => h.stale).map((h) => h.name));
  const switches = [...new Set(p.hosts.flatMap((h) => h.switches || []))];
  const where = p.shown.state === "moving" && p.shown.limiter !== "none" ? p.shown.where : "", app = ofApplication.has(p.shown.limiter);
  const stations = [
    ["sender", from, where === "sender" || (app && p.shown.limiter === "application-source")],
    ["path", switches.join(", ") || "network", where === "path"],
    ["receiver", to, where === "receiver" || (app && p.shown.limiter === "application-sink")]];
  if (where === "server storage") stations.splice(p.shown.at_host === from ? 0 : 3, 0, ["storage", p.shown.at_host || "server", true]);
  const way = el("ol", "way");
  way.setAttribute("aria-label", "the path, from where data comes");
  for (const [kind, name, here] of stations) {
    const s = el("li", here ? (app ? "here app" : "here") : stale.has(name) ? "old" : "", el("small", "", kind), el("b", "", name), el("span", "", here ? "▲ " + p.shown.limiter : stale.has(name) ? "✕ stale" : ""));
    way.append(s);
  }
  return way;
};
const table = (head, rows) => {
  const t = el("table", "", el("thead", "", el("tr", "", ...head.map((h) => el("th", "", h)))));
  t.append(el("tbody", "", ...rows.map((r) => el("tr", "", ...r.map((c) => el("td", "", c))))));
  return el("div", "scroll", t);
};
const mostConns = 50;
// Of a connection between two hosts that are watched both ends are in a picture: it counts once.
const unlisted = (conns) => {
  const seen = new Set();
  let more = 0;
  conns.forEach((c, i) => {
    if (i >= mostConns && !seen.has(c.local + " " + c.remote) && !seen.has(c.remote + " " + c.local)) more++;
    seen.add(c.local + " " + c.remote);
  });
  return more;
};
// Of a path that is not judged its connections are not listed, though there may be some.
const noConns = (state) => state === "unused" ? "none" : state === "idle" ? "none that moves data" : "not known";
const drawConns = (conns, untold, idle, state) => {
  const rows = conns.slice(0, mostConns).map((c) => [
    c.local + " → " + c.remote, rate(c.out_bps), rate(c.in_bps), span(c.rtt), Number((100 * c.resent_share).toPrecision(2)) + "%",
    share(c.receive_window_share), share(c.send_buffer_share), share(c.path_share), share(c.application_share)]);
  const n = unlisted(conns) + (idle ? 0 : untold), rest = [];
  if (n) rest.push(n + " more");
  if (idle && untold) rest.push(untold + (n ? " idle or nearly so" : " more, idle or nearly so"));
  if (!rows.length) return [el("p", "small", rest.join(", and ") || noConns(state))];
  const more = rest.length ? [el("p", "small", "and " + rest.join(", and "))] : [];
  return [table(["connection", "out", "in", "RTT", "resent", "receive window", "send buffer", "path", "application"], rows), ...more];
};
const modes = ["user", "system", "softirq", "steal"];
const busy = (c) => modes.reduce((sum, m) => sum + c[m], 0);
const figures = (c) => "core " + c.cpu + ": " + modes.map((m) => m + " " + share(c[m])).join(", ");
const coresOpen = new Set(); // hosts whose cores are shown as a table
const drawCores = (h) => {
  const d = el("details", "", el("summary", "", "each core as a table"));
  const fill = () => d.append(table(["core", ...modes], h.cores.map((c) => [c.cpu, ...modes.map((m) => share(c[m]))])));
  d.open = coresOpen.has(h.name);
  if (d.open) fill();
  d.ontoggle = () => {
    if (d.open && !coresOpen.has(h.name)) fill();
    coresOpen[d.open ? "add" : "delete"](h.name);
  };
  return [el("p", "small", "busiest is " + figures(h.cores.reduce((a, c) => (busy(c) > busy(a) ? c : a)))), d];
};
const drawHost = (h) => {
  const box = el("div", "host", el("h3", "", h.name + (h.stale ? " – stale: what follows is old" : "")));
  const cores = el("div", "cores");
  for (const c of h.cores) {
    const bar = el("div", "core");
    bar.title = figures(c);
    for (const m of [...modes].reverse()) {
      const part = el("i", m);
      part.style.height = 100 * c[m] + "%";
      bar.append(part);
    }
    cores.append(bar);
  }
  const key = el("p", "small", "cores:");
  for (const m of modes) key.append(el("span", "key " + m), m);
  if (h.cores.length) box.append(key, cores, ...drawCores(h));
  if (h.nics.length) box.append(table(["interface", "in", "out", "drops/s", "errors/s", "pause frames/s", "qdisc drops/s", "waits in qdisc"],
    h.nics.map((n) => [n.name, rate(n.in_bps), rate(n.out_bps), Number(n.drops_per_second.toPrecision(3)), Number(n.errors_per_second.toPrecision(3)),
      n.pause_frames_per_second === null ? "–" : Number(n.pause_frames_per_second.toPrecision(3)),
      n.qdisc_drops_per_second === null ? "–" : Number(n.qdisc_drops_per_second.toPrecision(3)), n.qdisc_backlog === null ? "–" : amount(n.qdisc_backlog)])));
  if (h.requests) box.append(table(["request", "per second", "mean time", "queued before"],
    h.requests.map((o) => [o.name, Number(o.per_second.toPrecision(4)), span(o.mean_time), o.mean_queue ? span(o.mean_queue) : "–"])));
  return box;
};
const drawEvent = (e) => {
  let text = e.path + ": " + words(e.to);
  if (e.from.state && e.from.state !== "starting") text += " (before: " + words(e.from) + ")";
  return el("li", "", clock(e.at), text + (e.line ? ". " + e.line : ""));
};
// What is drawn anew each second keeps the focus where it was, for those who use the keyboard.
const put = (id, ...parts) => {
  const box = document.getElementById(id), stops = () => [...box.querySelectorAll("summary, a, button")];
  const at = stops().indexOf(document.activeElement);
  box.replaceChildren(...parts);
  if (at >= 0 && stops()[at]) stops()[at].focus({ preventScroll: true });
};
// Tiles stay where they are; what a filter leaves out is hidden.
const kinds = [["all", () => true], ["below half of the ceiling", (p) => grade(p) === "little"], ["held back", (p) => p.shown.state === "moving" && p.shown.limiter !== "none" && !ofApplication.has(p.shown.limiter)],
  ["cannot tell", (p) => p.shown.state === "cannot tell"], ["stale or lost", (p) => grade(p) === "old"]];
let wanted = 0, rows = [], tiles = [], turn = 0;
const buttons = kinds.map((_, i) => {
  const b = el("button", "");
  b.onclick = () => { wanted = i; drawRows(); };
  document.getElementById("kinds").append(b);
  return b;
});
const grid = document.getElementById("tiles");
// Of a thousand tiles a few are in sight. Those are drawn with each message; the others when what
// holds the path back is another, when they come into sight, and some of them each time.
const sight = new IntersectionObserver((all) => {
  for (const e of all) {
    const t = e.target.tile;
    t.seen = e.isIntersecting;
    if (t.seen && rows[t.i]) drawTile(t, rows[t.i]);
  }
}, { root: grid, rootMargin: "200px" });
const tile = (p, i) => {
  const t = { i: i, path: p.path, box: el("button", "tile"), state: el("span", "what"), numbers: el("span", "numbers"), fill: el("span"), seen: false, drawn: null, hidden: false, pressed: false };
  t.box.append(el("b", "", p.path), t.state, el("span", "bar", t.fill), t.numbers);
  t.box.setAttribute("aria-pressed", false);
  t.box.onclick = () => choose(t.path);
  t.box.tile = t;
  sight.observe(t.box);
  return t;
};
const drawTile = (t, p) => {
  if (t.drawn === p) return;
  const [of, numbers] = carries(p), cls = "tile " + grade(p), state = words(p.shown), width = Math.min(100, Math.round(1000 * of) / 10) + "%";
  if (t.box.className !== cls) t.box.className = cls;
  if (t.what !== state) t.state.textContent = t.what = state;
  if (t.carries !== numbers) t.numbers.textContent = t.carries = numbers;
  if (t.width !== width) t.fill.style.width = t.width = width;
  if (t.known !== !!p.ceiling_bps) t.fill.parentNode.style.visibility = (t.known = !!p.ceiling_bps) ? "" : "hidden";
  t.drawn = p;
};
const takeRows = (m) => {
  if (!m.full) {
    for (const r of m.rows) if (rows[r.i]) rows[r.i] = { ...r, path: rows[r.i].path };
    return;
  }
  rows = m.rows;
  const old = new Map(tiles.map((t) => [t.path, t]));
  tiles = rows.map((p, i) => {
    const t = old.get(p.path) || tile(p, i);
    old.delete(p.path);
    t.i = i;
    return t;
  });
  for (const t of old.values()) sight.unobserve(t.box);
  grid.replaceChildren(...tiles.map((t) => t.box));
};
const all_ = document.getElementById("all"), none = document.getElementById("none");
const drawRows = (every) => {
  if (all_.hidden !== rows.length < 2) all_.hidden = rows.length < 2;
  const from = turn, some = Math.max(20, Math.ceil(rows.length / 20));
  turn = rows.length ? (turn + some) % rows.length : 0;
  rows.forEach((p, i) => {
    const t = tiles[i], hidden = !kinds[wanted][1](p), pressed = p.path === chosen;
    if (t.hidden !== hidden) t.box.hidden = t.hidden = hidden;
    if (t.pressed !== pressed) t.box.setAttribute("aria-pressed", t.pressed = pressed);
    const its = (i - from + rows.length) % rows.length < some;
    if (every || t.seen || its || !t.drawn || words(t.drawn.shown) !== words(p.shown) || grade(t.drawn) !== grade(p)) drawTile(t, p);
  });
  kinds.forEach(([name, is], i) => {
    const n = rows.filter(is).length, text = n + " " + name, pressed = String(i === wanted);
    if (buttons[i].textContent !== text) buttons[i].textContent = text;
    if (buttons[i].getAttribute("aria-pressed") !== pressed) buttons[i].setAttribute("aria-pressed", pressed);
    if (i === wanted) none.hidden = n > 0;
  });
};
window.addEventListener("beforeprint", () => drawRows(true));
// What waits to be confirmed on a host, and for how long still. Rows are made again only when others
// wait, so that their link keeps the focus.
let waited = "";
const drawWaits = (all) => {
  const key = JSON.stringify(all.map((p) => ({ ...p, left_s: 0 })));
  document.getElementById("waits").hidden = !all.length;
  if (key !== waited) put("waits", ...all.map((p) => {
    const a = el("a", "", "change hosts");
    a.href = "change";
    return el("p", "", el("b", "", p.host + ": "), p.plan + (p.waits ? " waits to be confirmed, and is undone in " : ": "), p.waits ? el("span", "left") : p.says, p.waits && p.says ? " – " + p.says : "", " ", a);
  }));
  waited = key;
  all.filter((p) => p.waits).forEach((p, i) => {
    document.querySelectorAll("#waits .left")[i].textContent = Math.floor(p.left_s / 60) + ":" + String(Math.floor(p.left_s % 60)).padStart(2, "0");
  });
};
let heard = 0, events = [];
const draw = (m) => {
  heard = Date.now();
  const p = m.chosen.find((q) => q.path === wish) || m.chosen[0];
  chosen = p ? p.path : "";
  takeRows(m);
  drawRows();
  put("path", p ? drawPath(p) : el("p", m.hint ? "hint" : "small", m.hint || "no path yet; between hosts one appears with the first connection"));
  put("conns", ...drawConns(p ? p.conns : [], p && p.conns_unlisted || 0, p && p.conns_unlisted_idle, p ? p.shown.state : "unused"));
  put("hosts", ...(p ? p.hosts.map(drawHost) : []));
  document.getElementById("history").textContent = m.history;
  drawWaits(m.pending || []);
  if (window.timelineOf) window.timelineOf(chosen);
  if (window.ladderOf) window.ladderOf(chosen);
  if (m.again || m.events.length) {
    events = (m.again ? m.events : events.concat(m.events)).slice(-200);
    put("events", ...[...events].reverse().map(drawEvent));
  }
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
// The browser reaches for the stream again by itself. What is chosen stands in the address, so
// that a link leads to it.
let chosen = "", wish = "", stream = null;
const take = (text) => {
  draw(JSON.parse(text));
  tell();
};
// Where the browser has shared workers, one stream serves all its tabs.
let port = null;
if (window.SharedWorker) {
  port = new SharedWorker("worker.js", { name: document.documentElement.dataset.build }).port;
  port.onmessage = (e) => take(e.data);
  setInterval(() => port.postMessage({ path: wish }), 20e3);
  window.addEventListener("pagehide", () => port.postMessage({ path: null }));
  window.addEventListener("pageshow", (e) => { if (e.persisted) listen(wish); });
}
const listen = (path) => {
  wish = path;
  if (port) {
    port.postMessage({ path: path });
    return;
  }
  if (stream) stream.close();
  stream = new EventSource(path ? "events?path=" + encodeURIComponent(path) : "events");
  stream.onmessage = (e) => take(e.data);
};
const choose = (path) => {
  chosen = path;
  window.history.replaceState(null, "", "#path=" + encodeURIComponent(path));
  listen(path);
};
const asked = () => {
  try {
    return location.hash.startsWith("#path=") ? decodeURIComponent(location.hash.slice(6)) : "";
  } catch {
    return ""; // no text of ours
  }
};
window.addEventListener("hashchange", () => listen(asked()));
listen(asked());
