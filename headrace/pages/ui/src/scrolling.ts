// Tables that are wider than their place can be scrolled with the keyboard.

function scrollableTables(): void {
  for (const table of document.querySelectorAll<HTMLElement>(".table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
}

export function keepTablesScrollable(): void {
  scrollableTables();
  addEventListener("resize", scrollableTables);
  document.addEventListener("htmx:after:swap", scrollableTables);
}
