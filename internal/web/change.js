"use strict";
// What hosts say is text, and stays text: nothing here makes markup of it.
const $ = (id) => document.getElementById(id);
const el = (name, cls, ...parts) => {
  const e = document.createElement(name);
  if (cls) e.className = cls;
  e.append(...parts);
  return e;
};
const button = (text, work) => {
  const b = el("button", "", text);
  b.onclick = work;
  return b;
};
const table = (head, rows) => {
  const t = el("table", "settings", el("thead", "", el("tr", "", ...head.map((h) => el("th", "", h)))));
  t.append(el("tbody", "", ...rows.map((r) => el("tr", "", ...r.map((c) => el("td", "", c))))));
  return el("div", "scroll", t);
};
const count = (n, what) => n + " " + what + (n === 1 ? "" : "s");
const short = (setting, device) => setting.replace(/^linux\./, "").replace(/^sysctl\./, "") + (device ? "@" + device : "");
// The token stands behind the #, which a browser sends to nobody. It is kept for this tab and this
// port alone, where a cookie would be for all ports of the host.
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("change", given);
  history.replaceState(null, "", location.pathname);
}
const ask = async (what, body) => {
  const r = await fetch("change/" + what, { method: "POST", headers: { "Content-Type": "application/json", "Linerate-Change-Token": sessionStorage.getItem("change") || "" }, body: JSON.stringify(body || {}) });
  const text = await r.text();
  if (r.status === 401) $("door").hidden = false;
  if (!r.ok) throw new Error(text.trim());
  return JSON.parse(text);
};
const say = (text) => { $("said").textContent = text; };
// One thing at a time: what is under way says so, and its buttons wait.
let busy = false;
const during = (text, work) => async () => {
  if (busy) return;
  busy = true;
  say(text);
  try {
    say(await work() || "");
  } catch (e) {
    say(e.message);
  }
  busy = false;
};
const subject = () => ({ host: $("host").value, profile: $("profile").value, to: $("to").value, via: $("to").value ? $("via").value.trim() : "", persist: $("persist").checked });
const put = (...parts) => $("doc").replaceChildren(...parts);
const path = (d) => el("p", "small", d.host + ", profile " + d.profile + (d.chosen ? " (" + d.chosen + ")" : "") + (d.path.peer ? "; to " + d.path.peer : "") +
  (d.path.rtt !== null ? "; round trip " + Number((d.path.rtt / 1e6).toPrecision(3)) + " ms (" + d.path.rtt_from + ")" : "; round trip not known"));
const panel = during("reading settings …", async () => {
  put();
  const d = await ask("panel", subject());
  put(path(d), table(["setting", "current", "default", "recommended", "why"], d.settings.map((s) => [short(s.setting, s.device), s.current || "–", s.default || "–", s.change ? s.recommended : "as it is", s.reason])));
  await journal();
});
let within = 60;
const line = (l) => el("li", "", el("b", "", short(l.setting, l.device) + (l.host === $("host").value ? "" : " on " + l.host)), " " + l.from + " → " + l.to,
  el("p", "small", l.reason + " · risk " + l.risk + (l.needs ? " · needs " + l.needs : "") + (l.cuts ? " · can cut you off" : "") + (l.trades ? " · trades " + l.trades : "") + " · " + l.source),
  l.applied === undefined ? "" : el("p", "small", "applied: " + (l.applied ? "yes" : "no") + "; effective: " + l.effective + (l.observed ? "; on the wire: " + l.observed : "")));
const lines = (d) => el("ol", "", ...d.plan.map(line));
// The files of a plan whole, since what is written is what was read here.
const file = (f) => f.path
  ? el("details", "", el("summary", "", f.path + " on " + f.host + (f.existed ? " (changed)" : " (new)")), el("pre", "", f.after), el("p", "small", f.note || ""))
  : el("p", "small", "no file for " + f.settings.join(", ") + ": " + f.note);
const files = (d, text) => d.files && d.files.length ? el("div", "files", el("p", "", text), ...d.files.map(file)) : "";
const plan = during("making the plan …", async () => {
  put();
  const p = await ask("plan", subject()), d = p.doc;
  const rest = el("details", "", el("summary", "", count(d.rejected.length, "setting") + " not changed, and why"), el("ul", "", ...d.rejected.map((r) => el("li", "", short(r.setting, r.device) + (r.value ? " (" + r.value + ")" : "") + ": " + r.why))));
  if (!d.plan.length) {
    put(path(d), el("p", "", "Nothing would be changed."), rest);
    return;
  }
  const time = el("select", "");
  for (const [s, name] of [[60, "1 minute"], [300, "5 minutes"], [900, "15 minutes"], [3600, "1 hour"]]) {
    const o = el("option", "", name);
    o.value = s;
    time.append(o);
  }
  time.value = within;
  time.onchange = () => { within = Number(time.value); };
  time.setAttribute("aria-label", "undo unless confirmed within");
  const apply = button("Apply", during("applying …", async () => {
    put();
    try {
      const made = await ask("apply", { plan: p.plan, within_s: within });
      put(el("p", "", "Applied. Confirm it above, or it undoes itself."), lines(made), files(made, made.written ? "Written:" : "Written with the confirmation:"), ...(made.notes || []).map((n) => el("p", "small", n)));
    } finally {
      await look();
      await journal();
    }
  }));
  apply.id = "apply";
  put(path(d), el("p", "", count(d.plan.length, "change")), lines(d), files(d, "Files that are written once it is confirmed:"), el("p", "zoom", apply, el("label", "", "undone by the host itself unless confirmed within ", time)), rest);
});
const journal = async () => {
  const h = await ask("history", { host: $("host").value });
  const rows = [...h.changes].reverse().slice(0, 50);
  if (!rows.length) {
    $("journal").replaceChildren(el("p", "small", "no change"));
    return;
  }
  const open = rows.some((c) => c.state === "applied" || c.state === "intended");
  const undo = button("Undo all of it", during("undoing …", async () => {
    const d = await ask("undo", { host: h.host });
    await look();
    await journal();
    return "undone: " + count(d.changes.length, "change") + " on " + d.host + (d.notes.length ? "; " + d.notes.join("; ") : "");
  }));
  undo.id = "undo";
  $("journal").replaceChildren(open ? el("p", "zoom", undo) : "", table(["#", "time", "setting", "before", "set to", "now", "by"],
    rows.map((c) => [String(c.seq), new Date(c.at).toLocaleString(), short(c.setting, c.target), c.before, c.after || c.wanted, c.state, c.by])));
};
const left = (s) => Math.floor(s / 60) + ":" + String(Math.floor(s % 60)).padStart(2, "0");
const row = (p) => {
  const text = p.waits ? p.host + ": " + p.plan + " is undone in " : p.host + ": " + p.plan + ": " + p.says;
  const e = el("div", "waits", el("b", "", text), p.waits ? el("b", "left", left(p.left_s)) : "", el("p", "small", (p.waits && p.says ? p.says + " · " : "") + (p.by ? "by " + p.by : "")));
  if (!p.waits) return e;
  e.append(el("p", "zoom", button(p.persist ? "Confirm, and write the files" : "Confirm", during("confirming …", async () => {
    const d = await ask("confirm", { host: p.host, plan: p.plan });
    await look();
    await journal();
    return "confirmed: " + count(d.kept, "change") + " in force on " + d.host + (d.files.length ? "; written: " + d.files.map((f) => f.path || "no file for " + f.settings.join(", ")).join(", ") : "");
  })), button("Undo now", during("undoing …", async () => {
    const d = await ask("undo", { host: p.host, plan: p.plan });
    await look();
    await journal();
    return "undone: " + count(d.changes.length, "change") + " on " + d.host;
  }))));
  return e;
};
// Rows are made again only when others wait, so that a button keeps the focus.
let shown = "";
const look = async () => {
  const r = await fetch("change/pending");
  if (!r.ok) throw new Error(await r.text());
  const all = await r.json(), key = JSON.stringify(all.map((p) => ({ ...p, left_s: 0 })));
  if (key !== shown) $("pending").replaceChildren(...(all.length ? all.map(row) : [el("p", "small", "nothing")]));
  shown = key;
  document.querySelectorAll(".left").forEach((e, i) => { e.textContent = left(all.filter((p) => p.waits)[i].left_s); });
  $("pending").style.opacity = 1;
};
setInterval(() => look().catch(() => { $("pending").style.opacity = 0.5; }), 1000);
const option = (value, text) => {
  const o = el("option", "", text);
  o.value = value;
  return o;
};
const begin = during("", async () => {
  const c = await ask("choices");
  $("door").hidden = true;
  $("host").replaceChildren(...c.hosts.map((h) => option(h, h)));
  $("profile").replaceChildren(option("", "what fits it"), ...c.profiles.map((p) => option(p.name, p.name + ": " + p.title)));
  $("to").replaceChildren(option("", "none in particular"), ...c.hosts.map((h) => option(h, h)));
  $("via").disabled = !$("to").value;
  await look();
  await journal();
});
$("see").onclick = panel;
$("make").onclick = plan;
$("host").onchange = during("", async () => {
  put();
  await journal();
});
$("to").onchange = () => {
  $("via").value = "";
  $("via").disabled = !$("to").value;
};
$("door").addEventListener("submit", (e) => {
  e.preventDefault();
  sessionStorage.setItem("change", $("token").value.trim());
  begin();
});
begin();
