// An error changes nothing in place: a form leads to the page of its error, and what keeps itself up to date says that it
// is not, until it is again.

interface Context {
  sourceElement: Element;
  response?: { raw: Response };
}

function tell(event: Event): void {
  const context = (event as CustomEvent<{ ctx?: Context }>).detail.ctx;
  if (!context) return;
  const { sourceElement, response } = context;
  if (response && sourceElement instanceof HTMLFormElement) location.assign(response.raw.url);
  sourceElement.querySelector("[data-stale]")?.removeAttribute("hidden");
}

export function tellFailures(): void {
  document.addEventListener("htmx:response:error", tell);
  document.addEventListener("htmx:error", tell);
}
