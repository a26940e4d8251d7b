/**
 * The hover's picture as a standalone SVG. An image in a hover sees none of the editor's colours, so each kind of theme has a
 * palette: the hues of VS Code's own charts and of the panel's page (webview-ui/style/theme.css), turned the same way.
 */
import type { HoverPicture, PicturePart, PicturePoint } from "../analysis/hover/picture";
import { base64Of } from "../terms/base64";
import { gib } from "../terms/sizes";
import { table } from "../terms/table";
import { inMarkup } from "../words/printable";
import type { ThemeKind } from "./protocol";

interface Palette {
  readonly text: string;
  readonly quiet: string;
  readonly track: string;
  readonly bad: string;
  readonly warn: string;
  /** Fill by kind of part. */
  readonly parts: Readonly<Record<string, string>>;
}

/** Kinds of parts in the order of a palette's fills. */
const KINDS =
  "weights adapters gradients optimizer activations logits-and-loss temporaries communication buffers inputs cache context";

function palette(text: string, quiet: string, track: string, bad: string, warn: string, fills: string): Palette {
  const colours = fills.split(" ");
  const parts = KINDS.split(" ").map((kind, index) => [kind, colours[index] ?? quiet] as const);
  return { text, quiet, track, bad, warn, parts: table(Object.fromEntries(parts)) };
}

const PALETTES: Readonly<Record<ThemeKind, Palette>> = {
  dark: palette(
    ...(["#cccccc", "#9c9c9c", "#353535", "#f14c4c", "#cca700"] as const),
    "#3794ff #89b3e3 #b180d7 #89d185 #d87725 #c99e1e #e5646e #44a5aa #c0aad1 #d1a681 #686868 #4d4d4d",
  ),
  light: palette(
    ...(["#3b3b3b", "#656565", "#e1e1e1", "#e51400", "#895503"] as const),
    "#1a85ff #2c5c93 #652d90 #388a34 #cf6f19 #c99e1e #d85863 #36999e #4e3561 #7e522c #a9a9a9 #c7c7c7",
  ),
  "contrast-dark": palette(
    ...(["#ffffff", "#e0e0e0", "#1f1f1f", "#f48771", "#ffd370"] as const),
    "#3794ff #a5cfff #b180d7 #89d185 #d87725 #c99e1e #e5646e #44a5aa #dcc6ed #edc29d #6b6b6b #424242",
  ),
  "contrast-light": palette(
    ...(["#292929", "#404040", "#e5e5e5", "#b5200d", "#895503"] as const),
    "#1a85ff #225289 #652d90 #374e06 #cf6f19 #c99e1e #d85863 #36999e #442b57 #744822 #a5a5a5 #c7c7c7",
  ),
};

/** Sizes of the picture and its parts; hovers are at most 500 pixels wide and scroll from 250 on. */
const WIDTH = 460;
const BAR_HEIGHT = 44;
/** What the name of the limit takes of that. */
const LIMIT_NAME = 12;
const CURVE_HEIGHT = 62;
const BAR = { top: 2, height: 14 } as const;
/** A row of values that have names, and what stands above the rows. */
const ROW = { height: 15, above: 18, bar: 40, figure: 58, gap: 16 } as const;
/** How much wider a bold name is. */
const BOLD = 1.2;
/** Parts named below the bar; the rest is in its colours alone. */
const MOST_NAMED = 5;

/** Average width of a letter at a font size, for laying words in a row; wide signs (CJK) count twice. */
function widthOf(text: string, size: number): number {
  return [...text].reduce((sum, sign) => sum + (sign > "\u2e7f" ? 1 : 0.54), 0) * size;
}

/** The picture as an SVG document. */
export function pictureSvg(picture: HoverPicture, theme: ThemeKind): string {
  const colours = PALETTES[theme];
  const below = BAR_HEIGHT - (picture.usableBytes === null ? LIMIT_NAME : 0);
  const tried = picture.curve === null ? NOTHING : drawn(picture.curve, picture, below, colours);
  const height = below + tried.height;
  const body = [...bar(picture, colours), ...tried.body];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui,-apple-system,Segoe UI,Ubuntu,Noto Sans CJK SC,sans-serif"><title>${inMarkup(picture.alt)}</title>${body.join("")}</svg>`;
}

/** The same as a link that Markdown can show. */
export function pictureLink(picture: HoverPicture, theme: ThemeKind): string {
  return `data:image/svg+xml;base64,${base64Of(new TextEncoder().encode(pictureSvg(picture, theme)))}`;
}

type Colours = Palette;

function word(x: number, y: number, fill: string, text: string, more = ""): string {
  return `<text x="${x.toFixed(1)}" y="${y}" fill="${fill}" font-size="11" ${more}>${inMarkup(text)}</text>`;
}

/** The peak by parts against what is usable. */
function bar({ parts, usedBytes, highBytes, usableBytes, usableText }: HoverPicture, colours: Colours): string[] {
  const scale = WIDTH / (Math.max(usedBytes, highBytes, usableBytes ?? 0) * 1.005);
  const { top, height } = BAR;
  let at = 0;
  const fills = parts.map(({ kind, bytes }) => {
    const width = bytes * scale;
    const rect = `<rect x="${at.toFixed(1)}" y="${top}" width="${Math.max(0, width - 0.6).toFixed(1)}" height="${height}" fill="${colours.parts[kind] ?? colours.quiet}"/>`;
    at += width;
    return rect;
  });
  const limit = usableBytes === null ? null : usableBytes * scale;
  const over = usableBytes !== null && usedBytes > usableBytes;
  const anchor = (limit ?? 0) > WIDTH - 60 ? "end" : (limit ?? 0) < 40 ? "start" : "middle";
  return [
    `<rect x="0" y="${top}" width="${WIDTH}" height="${height}" fill="${colours.track}"/>`,
    ...fills,
    ...(limit === null
      ? []
      : [
          `<path d="M${limit.toFixed(1)} ${top - 2}V${top + height + 3}" stroke="${over ? colours.bad : colours.text}" stroke-width="2"/>`,
          word(limit, top + height + 12, over ? colours.bad : colours.quiet, usableText, `text-anchor="${anchor}"`),
        ]),
    ...legend(parts, colours, top + height + 26 - (limit === null ? LIMIT_NAME : 0)),
  ];
}

/** The largest parts that one row has room for, by name, in the bar's order. */
function legend(parts: HoverPicture["parts"], colours: Colours, y: number): string[] {
  const widthIn = ({ name, bytes }: HoverPicture["parts"][number]) => 22 + widthOf(`${name} ${gib(bytes)}`, 11);
  let room = WIDTH + 10;
  const largest: PicturePart[] = [];
  for (const part of parts.toSorted((a, b) => b.bytes - a.bytes)) {
    if (largest.length === MOST_NAMED || widthIn(part) > room || gib(part.bytes) === "0.0") continue;
    room -= widthIn(part);
    largest.push(part);
  }
  const row: string[] = [];
  let x = 0;
  for (const part of parts.filter((one) => largest.includes(one))) {
    const { kind, name, bytes } = part;
    const said = `${name} ${gib(bytes)}`;
    row.push(`<rect x="${x}" y="${y - 8}" width="8" height="8" fill="${colours.parts[kind] ?? colours.quiet}"/>`);
    row.push(word(x + 12, y, colours.text, said));
    x += widthIn(part);
  }
  return row;
}

type Curve = NonNullable<HoverPicture["curve"]>;

interface Drawn {
  readonly body: readonly string[];
  readonly height: number;
}

const NOTHING: Drawn = { body: [], height: 0 };

/** The values tried: a curve over short ones, rows of the others, whose names would run into one another. */
function drawn(curve: Curve, { usableBytes }: HoverPicture, top: number, colours: Colours): Drawn {
  const room = stepOf(curve) - 4;
  return curve.points.every(({ value }) => widthOf(value, 11) <= room)
    ? { body: curveOf(curve, usableBytes, top, colours), height: CURVE_HEIGHT }
    : rowsOf(curve, top, colours);
}

/** Values by name, each with a bar and its peak: in two columns where they are narrow enough. */
function rowsOf({ label, points }: Curve, top: number, colours: Colours): Drawn {
  const names = Math.max(...points.map(({ value }) => widthOf(value, 11) * BOLD));
  const columns = points.length > 3 && 2 * (names + ROW.bar + ROW.figure) + ROW.gap <= WIDTH ? 2 : 1;
  const rows = Math.ceil(points.length / columns);
  const most = Math.max(...points.map(({ bytes }) => bytes));
  const column = (WIDTH - ROW.gap * (columns - 1)) / columns;
  const end = columns === 2 ? column : Math.min(column, names + 180);
  const body = points.flatMap((point, index) => {
    const x = Math.floor(index / rows) * (column + ROW.gap);
    const y = top + ROW.above + 11 + (index % rows) * ROW.height;
    const fill = colours[FIT_COLOURS[point.fit]];
    const weight = point.now ? 'font-weight="700"' : "";
    const longest = end - names - ROW.figure;
    return [
      word(x, y, colours.text, point.value, weight),
      `<rect x="${(x + names + 6).toFixed(1)}" y="${y - 7}" width="${((point.bytes / most) * (longest - 12)).toFixed(1)}" height="6" fill="${point.fit === "does-not-fit" || point.fit === "tight" ? fill : colours.quiet}"/>`,
      word(x + end - 14, y, fill, gib(point.bytes), `${weight} text-anchor="end"`),
      word(x + end - 11, y, fill, FIT_SIGNS[point.fit].trim()),
    ];
  });
  return {
    body: [word(0, top + 14, colours.quiet, label), ...body],
    height: ROW.above + rows * ROW.height + 4,
  };
}

/** The peak over the values tried, each point with its peak above and its value below. */
function curveOf({ label, points }: Curve, usableBytes: number | null, above: number, colours: Colours): string[] {
  const top = above + 17;
  const height = 29;
  const left = leftOf(label);
  const most = Math.max(...points.map(({ bytes }) => bytes));
  const step = stepOf({ label, points });
  const x = (index: number): number => left + step * (index + 0.5);
  const y = (bytes: number): number => top + height - (bytes / most) * height;
  const line = points.map(
    ({ bytes }, index) => `${index === 0 ? "M" : "L"}${x(index).toFixed(1)} ${y(bytes).toFixed(1)}`,
  );
  const over = usableBytes === null || usableBytes > most ? null : y(usableBytes);
  const sizes = points.map((point, index) => ({
    x: x(index),
    y: y(point.bytes),
    half: widthOf(sizeOf(point), 11) / 2,
  }));
  const limit =
    over === null
      ? []
      : [
          `<path d="${limitPath(over, left, sizes)}" fill="none" stroke="${colours.bad}" stroke-dasharray="4 3" stroke-width="1"/>`,
        ];
  return [
    ...limit,
    `<path d="${line.join("")}" fill="none" stroke="${colours.quiet}" stroke-width="1.5"/>`,
    word(0, top + height + 13, colours.quiet, label),
    ...points.flatMap((point, index) => pointOf(point, x(index), y(point.bytes), top + height + 13, colours)),
  ];
}

/** The limit from left to right, interrupted where the figure of a point stands on it. */
function limitPath(
  at: number,
  left: number,
  sizes: readonly { readonly x: number; readonly y: number; readonly half: number }[],
): string {
  let path = `M${left} ${at.toFixed(1)}`;
  for (const { x, y, half } of sizes) {
    if (at > y - 4 || at < y - 18) continue;
    path += `H${(x - half - 2).toFixed(1)}M${(x + half + 2).toFixed(1)} ${at.toFixed(1)}`;
  }
  return `${path}H${WIDTH}`;
}

/** The figure above a point. */
function sizeOf({ bytes, fit }: PicturePoint): string {
  return `${gib(bytes)}${FIT_SIGNS[fit]}`;
}

const FIT_COLOURS = { fits: "text", unknown: "text", tight: "warn", "does-not-fit": "bad" } as const;
const FIT_SIGNS = { fits: "", unknown: "", tight: " ~", "does-not-fit": " ✗" } as const;

function leftOf(label: string): number {
  return Math.min(120, widthOf(label, 11) + 14);
}

function stepOf({ label, points }: Curve): number {
  return (WIDTH - leftOf(label)) / Math.max(1, points.length);
}

function pointOf(point: PicturePoint, x: number, y: number, foot: number, colours: Colours): string[] {
  const fill = colours[FIT_COLOURS[point.fit]];
  const weight = point.now ? 'font-weight="700" ' : "";
  const centred = `${weight}text-anchor="middle"`;
  return [
    `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${point.now ? 4 : 2.5}" fill="${fill}"/>`,
    word(x, Math.round(y) - 7, fill, sizeOf(point), centred),
    word(x, foot, colours.text, point.value, centred),
  ];
}
