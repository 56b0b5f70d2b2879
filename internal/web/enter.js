"use strict";
// The token stands behind the #, which a browser sends to nobody, and is taken out of the address.
const said = document.getElementById("said"), typed = document.getElementById("token");
const enter = async (token) => {
  const r = await fetch("session", { method: "POST", headers: { Authorization: "Bearer " + token } });
  if (r.ok) location.replace(location.pathname);
  else said.textContent = await r.text();
};
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  history.replaceState(null, "", location.pathname);
  enter(given);
}
typed.addEventListener("keydown", (e) => {
  if (e.key === "Enter") enter(typed.value.trim());
});
