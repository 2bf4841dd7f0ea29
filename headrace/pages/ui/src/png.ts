// Links with `data-png` lead to a drawing of ours; a click on one saves it as PNG. Where that fails, the link is followed,
// to the drawing as SVG or to the sign-in.

const MAX_SIDE = 8_192;
const MAX_PIXELS = 33_000_000;
const SHARPNESS = 2;

function save(canvas: HTMLCanvasElement, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (!blob) return reject(new Error("The browser could not draw it: export it as SVG."));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      resolve();
    }, "image/png");
  });
}

async function draw(link: HTMLAnchorElement): Promise<void> {
  const image = new Image();
  image.src = link.href;
  await image.decode();
  const { naturalWidth: width, naturalHeight: height } = image;
  const scale = Math.min(
    SHARPNESS,
    MAX_SIDE / width,
    MAX_SIDE / height,
    Math.sqrt(MAX_PIXELS / (width * height)),
  );
  const canvas = document.createElement("canvas");
  canvas.width = Math.floor(width * scale);
  canvas.height = Math.floor(height * scale);
  const context = canvas.getContext("2d")!;
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  await save(canvas, link.download);
}

function showLinks(): void {
  document.querySelectorAll<HTMLAnchorElement>("a[data-png]").forEach((link) => (link.hidden = false));
}

export function saveAsPng(): void {
  showLinks();
  document.addEventListener("htmx:after:swap", showLinks);
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[data-png]") : null;
    if (!link) return;
    event.preventDefault();
    draw(link).catch(() => location.assign(link.href));
  });
}
