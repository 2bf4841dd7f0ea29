// Times: ages stay right, and clock times are in the reader's zone, with UTC on hover.

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];
const AGE = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });
const CLOCK = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });
const ZONE = new Intl.DateTimeFormat("en", { timeZoneName: "short" });
const REFRESH_MS = 10_000;

export function age(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000);
  const [unit, span] = UNITS.find(([, span]) => Math.abs(seconds) >= span) ?? ["second", 1];
  return AGE.format(Math.trunc(seconds / span), unit);
}

function zone(at: Date): string {
  return ZONE.formatToParts(at).find((part) => part.type === "timeZoneName")?.value ?? "";
}

function show(): void {
  const now = new Date();
  for (const time of document.querySelectorAll<HTMLTimeElement>("time[data-show]")) {
    const at = new Date(time.dateTime);
    const text = time.dataset.show === "age" ? age(at, now) : `${CLOCK.format(at)} ${zone(at)}`;
    if (time.textContent !== text) time.textContent = text;
  }
}

export function keepTimesRight(): void {
  show();
  setInterval(show, REFRESH_MS);
  document.addEventListener("htmx:after:swap", show);
}
