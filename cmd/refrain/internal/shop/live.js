// Reloads the lists in place; without this script the page reloads itself.
const live = document.getElementById("live");
setInterval(async () => {
  if (document.hidden || live.contains(document.activeElement) || !getSelection().isCollapsed) return;
  try {
    const answer = await fetch("/");
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
    if (fresh && fresh.innerHTML !== live.innerHTML) live.replaceChildren(...fresh.childNodes);
  } catch { /* the demo has stopped; the last state stays on the page */ }
}, 2000);
