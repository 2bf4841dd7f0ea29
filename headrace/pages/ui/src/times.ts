// Times: ages stay right, and clock times are in the reader's zone, with UTC on hover.

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
];
const AGE = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" });
const CLOCK = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "short" });
const TIME = new Intl.DateTimeFormat("sv-SE", { timeStyle: "short" });
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

function words(at: Date, kind: string | undefined, now: Date): string {
  if (kind === "age") return age(at, now);
  return kind === "time" ? TIME.format(at) : `${CLOCK.format(at)} ${zone(at)}`;
}

function show(): void {
  const now = new Date();
  for (const time of document.querySelectorAll<HTMLTimeElement>("time[data-show]")) {
    const text = words(new Date(time.dateTime), time.dataset.show, now);
    if (time.textContent !== text) time.textContent = text;
  }
}

export function keepTimesRight(): void {
  show();
  setInterval(show, REFRESH_MS);
  document.addEventListener("htmx:after:swap", show);
}
