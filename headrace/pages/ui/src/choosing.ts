// A box in the head of a table chooses all of its rows.

export function chooseAll(): void {
  for (const all of document.querySelectorAll<HTMLInputElement>("input[data-choose]")) {
    all.hidden = false;
    all.addEventListener("change", () => {
      for (const box of all.form?.querySelectorAll<HTMLInputElement>(`input[name="${all.dataset.choose}"]`) ?? [])
        if (!box.disabled) box.checked = all.checked;
    });
  }
}
