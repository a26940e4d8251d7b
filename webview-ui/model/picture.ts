/** The bar and the timeline as one standalone SVG picture with plain colours, for a document or a chat. */
import type { ReportRun } from "../../src/core/report/schema";
import { inMarkup } from "../../src/words/printable";
import type { Translate } from "../messages";
import { layoutBar, usableBytes } from "./bar";
import { gib, gibUnit } from "./format";
import { describeRun, headlineOf } from "./headline";
import { curve, layersOf, timelineOf } from "./timeline";

/** Colours of the page as they are at the moment, by role; fills are asked for by part. */
export interface Palette {
  readonly background: string;
  readonly text: string;
  readonly quiet: string;
  readonly grid: string;
  readonly limit: string;
  readonly area: string;
  readonly fill: (kind: string) => string;
}

export const PICTURE_WIDTH = 960;

/** Height grows with the legend; the width is {@link PICTURE_WIDTH}. */
export function pictureOf(
  run: ReportRun,
  label: string,
  t: Translate,
  palette: Palette,
): { svg: string; height: number } {
  const left = 32;
  const width = PICTURE_WIDTH - 2 * left;
  const parts: string[] = [];
  const text = (x: number, y: number, size: number, fill: string, words: string, more = "") =>
    parts.push(`<text x="${x}" y="${y}" font-size="${size}" fill="${fill}" ${more}>${inMarkup(words)}</text>`);
  const headline = headlineOf(run, t);
  text(left, 34, 12, palette.quiet, label);
  text(left, 62, 20, palette.text, headline.verdict, 'font-weight="600"');
  text(left, 84, 13, palette.text, headline.detail);
  text(left, 104, 12, palette.quiet, describeRun(run, t).join(" · "));
  let y = 124;
  const layout = layoutBar(run);
  if (layout !== null) {
    parts.push(`<rect x="${left}" y="${y}" width="${width}" height="32" fill="${palette.grid}"/>`);
    for (const part of layout.parts) {
      const x = left + part.start * width;
      parts.push(
        `<rect x="${x.toFixed(1)}" y="${y}" width="${(part.size * width).toFixed(1)}" height="32" fill="${palette.fill(part.kind)}"/>`,
      );
    }
    if (layout.usableAt !== null && layout.usableAt <= 1) {
      const x = (left + layout.usableAt * width).toFixed(1);
      parts.push(`<path d="M${x} ${y - 5}V${y + 37}" stroke="${palette.limit}" stroke-width="2"/>`);
      const anchor = layout.usableAt > 0.85 ? "end" : layout.usableAt < 0.15 ? "start" : "middle";
      const usable = t("bar.usable", { size: gibUnit(usableBytes(run) ?? 0, t.locale) });
      text(Number(x), y + 48, 11, palette.text, usable, `text-anchor="${anchor}"`);
    }
    y += 72;
    layout.parts.forEach((part, index) => {
      const x = left + (index % 4) * (width / 4);
      const line = y + Math.floor(index / 4) * 22;
      parts.push(`<rect x="${x}" y="${line - 9}" width="10" height="10" fill="${palette.fill(part.kind)}"/>`);
      text(x + 16, line, 12, palette.text, `${t.named(`kind.${part.kind}`, part.kind)} ${gib(part.bytes, t.locale)}`);
    });
    y += Math.ceil(layout.parts.length / 4) * 22 + 14;
  }
  const timeline = timelineOf(run);
  if (timeline !== null) {
    const height = 180;
    text(left, y, 13, palette.text, t("timeline.title"), 'font-weight="600"');
    y += 14;
    for (const tick of timeline.ticks) {
      const line = (y + height - (tick / timeline.topBytes) * height).toFixed(1);
      parts.push(`<path d="M${left} ${line}H${left + width}" stroke="${palette.grid}"/>`);
      text(left - 4, Number(line) + 4, 10, palette.quiet, gib(tick, t.locale), 'text-anchor="end"');
    }
    const layers = layersOf(timeline);
    const areas =
      layers.length === 0
        ? `<path d="${curve(timeline, width, height, true)}" fill="${palette.area}" fill-opacity="0.3"/>`
        : layers
            .map(
              ({ series, samples }) =>
                `<path d="${curve(timeline, width, height, true, samples)}" fill="${palette.fill(timeline.series[series] ?? "")}"/>`,
            )
            .join("");
    const line = `<path d="${curve(timeline, width, height, false)}" fill="none" stroke="${palette.text}" stroke-opacity="0.6"/>`;
    parts.push(`<g transform="translate(${left} ${y})"><g opacity="0.9">${areas}</g>${line}</g>`);
    if (timeline.limitBytes !== null) {
      const line = (y + height - (timeline.limitBytes / timeline.topBytes) * height).toFixed(1);
      parts.push(`<path d="M${left} ${line}H${left + width}" stroke="${palette.limit}" stroke-dasharray="6 4"/>`);
      text(
        left + width,
        Number(line) - 5,
        11,
        palette.limit,
        t("timeline.limit", { size: gibUnit(timeline.limitBytes, t.locale) }),
        `text-anchor="end" paint-order="stroke" stroke="${palette.background}" stroke-width="4"`,
      );
    }
    y += height + 18;
    for (const span of timeline.spans) {
      if (span.end - span.start < 0.055) continue;
      const middle = left + ((span.start + span.end) / 2) * width;
      text(middle, y, 11, palette.quiet, t.named(`phase.${span.phase}`, span.phase), 'text-anchor="middle"');
    }
    y += 10;
  }
  const height = y + 16;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${PICTURE_WIDTH}" height="${height}" viewBox="0 0 ${PICTURE_WIDTH} ${height}" font-family="system-ui, sans-serif"><rect width="100%" height="100%" fill="${palette.background}"/>${parts.join("")}</svg>`;
  return { svg, height };
}
