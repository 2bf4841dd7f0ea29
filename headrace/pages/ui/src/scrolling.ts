// Tables that are wider than their place can be scrolled with the keyboard; lists of pages show the open one.

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

export function showWhereItIs(): void {
  for (const here of document.querySelectorAll<HTMLElement>(".bar nav [aria-current], .tabs [aria-current]")) {
    const list = here.parentElement;
    if (list) list.scrollLeft = here.offsetLeft - list.offsetLeft - (list.clientWidth - here.offsetWidth) / 2;
  }
}
