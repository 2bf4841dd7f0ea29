// Keys: `/` goes to the search, `j` and `k` from row to row of a table, Escape closes the menu.

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;
}

function moveInTable(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("tbody tr")]
    .map((row) => row.querySelector<HTMLElement>("a, button, input"))
    .filter((link): link is HTMLElement => link !== null);
  const row = document.activeElement?.closest("tr");
  const here = links.findIndex((link) => link.closest("tr") === row);
  links[Math.max(0, Math.min(links.length - 1, here + step))]?.focus();
}

export function keyboard(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      document.querySelector<HTMLDetailsElement>("details.menu[open]")?.removeAttribute("open");
    }
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const field = document.querySelector<HTMLInputElement>(`[data-shortcut="${CSS.escape(event.key)}"]`);
    if (field) {
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === "j" || event.key === "k") {
      moveInTable(event.key === "j" ? 1 : -1);
    }
  });
}
