"use strict";
// One stream for all tabs of a browser: it opens no more than six connections to a host, so that
// with a stream for each the seventh tab would wait for ever.
const tabs = new Map(); // port: the path it shows, and when it was heard
let stream = null;
const listen = () => {
  if (stream) stream.close();
  stream = null;
  if (!tabs.size) return;
  const q = new URLSearchParams();
  for (const t of tabs.values()) q.append("path", t.path);
  stream = new EventSource("events?" + q);
  stream.onmessage = (e) => {
    for (const port of tabs.keys()) port.postMessage(e.data);
  };
};
onconnect = (c) => {
  const port = c.ports[0];
  port.onmessage = (e) => {
    const before = tabs.get(port), path = e.data.path;
    if (path === null) tabs.delete(port);
    else tabs.set(port, { path: path, heard: Date.now() });
    if (!before || path !== before.path) listen();
  };
};
// A tab that crashed does not say so. Browsers hold back the timers of hidden ones for a minute.
setInterval(() => {
  let gone = false;
  for (const [port, t] of tabs) if (Date.now() - t.heard > 180e3) gone = tabs.delete(port);
  if (gone) listen();
}, 30e3);
