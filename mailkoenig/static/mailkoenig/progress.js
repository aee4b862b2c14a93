// Keeps the numbers of a campaign fresh. Without it the page shows them as of its loading.
"use strict";
(() => {
  const panel = document.querySelector("[data-progress]");
  if (!panel) return;
  let wait = 3000;
  const isEdited = () => document.querySelector("#campaign_form[data-edited]") !== null;
  document.querySelector("#campaign_form")?.addEventListener("input", (event) => {
    event.currentTarget.dataset.edited = "1";
  });
  const show = (answer) => {
    if (answer.status !== panel.dataset.status && !isEdited()) {
      location.reload();
      return;
    }
    if (panel.contains(document.activeElement)) return;
    panel.innerHTML = answer.html;
  };
  const look = async () => {
    try {
      const response = await fetch(panel.dataset.progress, { headers: { Accept: "application/json" } });
      if (response.status === 403 || response.status === 404 || response.redirected) return;
      if (response.ok) {
        show(await response.json());
        wait = 3000;
      }
    } catch {
      wait = Math.min(wait * 2, 60000);
    }
    setTimeout(look, document.hidden ? 15000 : wait);
  };
  setTimeout(look, wait);
})();
