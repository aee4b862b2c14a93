// Copies a field; where the browser forbids that (no https), the field is selected for the person to copy.
"use strict";
document.querySelectorAll("[data-copy]").forEach((button) => {
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    const word = button.querySelector("[data-word]");
    try {
      await navigator.clipboard.writeText(field.value);
      word.textContent = button.dataset.done;
    } catch {
      word.textContent = "Selected: press Ctrl+C";
    }
  });
});
