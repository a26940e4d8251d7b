/** Colours of the page for the exported picture, and drawing it as PNG. */
import { COMPONENT_KINDS } from "../src/core/report/estimate";
import { type Palette, PICTURE_WIDTH } from "./model/picture";

/** Reads the theme's colours off the page as `#rrggbb`: what shows a picture may know no variables and no `oklch`. */
export function paletteOf(root: Element): Palette {
  const probe = document.createElement("span");
  root.append(probe);
  const computed = (value: string) => {
    probe.style.setProperty("color", value);
    return getComputedStyle(probe).color;
  };
  const background = opaque(computed("var(--vl-background)"), "white");
  const colour = (value: string) => opaque(computed(value), background);
  const fills = new Map<string, string>(
    [...COMPONENT_KINDS, "cache", "context"].map((kind) => {
      probe.setAttribute("class", `fill-${kind}`);
      return [kind, opaque(getComputedStyle(probe).fill, background)];
    }),
  );
  const quiet = colour("var(--vl-quiet)");
  const palette = {
    background,
    text: colour("var(--vl-text)"),
    quiet,
    grid: colour("var(--vl-track)"),
    limit: colour("var(--vl-bad)"),
    area: colour("var(--vl-accent)"),
    fill: (kind: string) => fills.get(kind) ?? quiet,
  };
  probe.remove();
  return palette;
}

/** Any CSS colour laid over another, as `#rrggbb`. */
function opaque(colour: string, under: string): string {
  const canvas = document.createElement("canvas");
  canvas.width = 1;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  if (context === null) return colour;
  for (const fill of [under, colour]) {
    context.fillStyle = fill;
    context.fillRect(0, 0, 1, 1);
  }
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Draws an SVG at twice its size and gives base64 PNG data. Rejects when the picture cannot be drawn. */
export async function pngOf(svg: string, height: number): Promise<string> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = PICTURE_WIDTH * 2;
  canvas.height = height * 2;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("no 2d context");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png").replace(/^data:image\/png;base64,/, "");
}
