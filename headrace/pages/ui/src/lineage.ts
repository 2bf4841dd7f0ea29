// The drawing of a lineage: larger, smaller, fitted, and moved by dragging. Without it the drawing scrolls.

const LEAST = 0.2;
const MOST = 3;
const READABLE = 0.65;

function natural(svg: SVGSVGElement): { width: number; height: number } {
  return svg.viewBox.baseVal;
}

function scaleTo(canvas: HTMLElement, svg: SVGSVGElement, wanted: number): void {
  const { width, height } = natural(svg);
  const scale = Math.max(LEAST, Math.min(MOST, wanted));
  const before = svg.width.baseVal.value / width;
  const x = (canvas.scrollLeft + canvas.clientWidth / 2) / before;
  const y = (canvas.scrollTop + canvas.clientHeight / 2) / before;
  svg.setAttribute("width", String(width * scale));
  svg.setAttribute("height", String(height * scale));
  canvas.scrollTo(x * scale - canvas.clientWidth / 2, y * scale - canvas.clientHeight / 2);
}

function fitting(canvas: HTMLElement, svg: SVGSVGElement): number {
  const { width, height } = natural(svg);
  return Math.min(1, canvas.clientWidth / width, canvas.clientHeight / height);
}

function zoom(canvas: HTMLElement, svg: SVGSVGElement, by: string): void {
  const scale = svg.width.baseVal.value / natural(svg).width;
  scaleTo(canvas, svg, by === "fit" ? fitting(canvas, svg) : scale * Number(by));
}

function dragged(canvas: HTMLElement): void {
  let from: { x: number; y: number; id: number } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || (event.target as Element).closest("a")) return;
    from = { x: event.clientX + canvas.scrollLeft, y: event.clientY + canvas.scrollTop, id: event.pointerId };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (from?.id === event.pointerId) canvas.scrollTo(from.x - event.clientX, from.y - event.clientY);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (from = null));
}

function prepare(drawing: HTMLElement): void {
  const canvas = drawing.querySelector<HTMLElement>(".canvas");
  const svg = drawing.querySelector<SVGSVGElement>("svg.lineage");
  const buttons = drawing.querySelector<HTMLElement>(".actions");
  if (!canvas || !svg || !buttons || drawing.dataset.ready) return;
  drawing.dataset.ready = "yes";
  buttons.hidden = false;
  buttons.addEventListener("click", (event) => {
    const by = (event.target as HTMLElement).closest<HTMLElement>("[data-zoom]")?.dataset.zoom;
    if (by) zoom(canvas, svg, by);
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(canvas, svg, event.deltaY < 0 ? "1.1" : "0.9");
  });
  dragged(canvas);
  if (fitting(canvas, svg) >= READABLE) scaleTo(canvas, svg, fitting(canvas, svg));
  const wanted = location.hash.startsWith("#n-") ? svg.getElementById(location.hash.slice(1)) : null;
  const start = (wanted ?? svg.querySelector("[data-start]"))?.getBoundingClientRect();
  const box = canvas.getBoundingClientRect();
  if (start) {
    canvas.scrollBy(
      start.x + start.width / 2 - box.x - box.width / 2,
      start.y + start.height / 2 - box.y - box.height / 2,
    );
  }
}

export function lineage(): void {
  const all = () => document.querySelectorAll<HTMLElement>(".drawing").forEach(prepare);
  all();
  document.addEventListener("htmx:after:swap", all);
}
