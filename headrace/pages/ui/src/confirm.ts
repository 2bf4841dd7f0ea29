// Forms with `data-confirm` ask before they are sent, and no form that changes something is sent twice.

export function confirmForms(): void {
  const dialog = document.querySelector<HTMLDialogElement>("dialog#confirm");
  if (!dialog) return;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.confirm || form.dataset.confirmed) return;
    event.preventDefault();
    const submitter = event.submitter;
    dialog.querySelector("p")!.textContent = form.dataset.confirm;
    dialog.returnValue = "";
    dialog.addEventListener(
      "close",
      () => {
        if (dialog.returnValue !== "yes") return;
        form.dataset.confirmed = "yes";
        form.requestSubmit(submitter);
      },
      { once: true },
    );
    dialog.showModal();
  });
}

export function sendOnce(): void {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== "post") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => {
    for (const form of document.forms) {
      delete form.dataset.sent;
      delete form.dataset.confirmed;
    }
  });
}
