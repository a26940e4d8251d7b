/** Colours of the page for the exported picture, and drawing it as PNG. */
import { type Palette, PICTURE_WIDTH } from "./model/picture";

/** Reads the theme's colours off the page; `color-mix` and variables come out as plain colours. */
export function paletteOf(root: Element): Palette {
  const probe = document.createElement("span");
  root.append(probe);
  const colour = (value: string) => {
    probe.style.setProperty("color", value);
    return getComputedStyle(probe).color;
  };
  const kinds = new Map<string, string>();
  for (const part of root.querySelectorAll(".bar .part")) {
    const kind = [...part.classList].find((name) => name.startsWith("fill-"))?.slice(5);
    if (kind !== undefined) kinds.set(kind, getComputedStyle(part).fill);
  }
  const palette = {
    background: colour("var(--vl-background)"),
    text: colour("var(--vl-text)"),
    quiet: colour("var(--vl-quiet)"),
    grid: colour("var(--vl-track)"),
    limit: colour("var(--vl-bad)"),
    area: colour("var(--vl-accent)"),
    fill: (kind: string) => kinds.get(kind) ?? colour("var(--vl-quiet)"),
  };
  // `fill` may be asked later; what it falls back to must not need the probe.
  const quiet = palette.quiet;
  probe.remove();
  return { ...palette, fill: (kind) => kinds.get(kind) ?? quiet };
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
