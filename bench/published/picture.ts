/**
 * Published peaks against estimates as one picture, and the page around it. Both are made from pages that their own commands
 * write (`npm run published`, `npm run accuracy`), so that no figure stands in two places by hand.
 */

interface Point {
  /** GiB */
  readonly published: number;
  readonly estimate: number;
  readonly low: number;
  readonly high: number;
  readonly inside: boolean;
}

/** Rows of docs/published-memory.md; the published figure follows from the estimate and its error. */
export function pointsOf(page: string): readonly Point[] {
  return page.split("\n").flatMap((line): Point[] => {
    const cells = line.split(" | ");
    const [estimate = "", band = "", error = "", note = ""] = cells.slice(3);
    const [low = "", high = ""] = band.split("–");
    const off = Number(error.replace("−", "-").replace(/[^\d.-]/g, "")) / 100;
    const value = Number(estimate);
    if (cells.length < 6 || !(value > 0) || !error.endsWith("%")) return [];
    const inside = !note.includes("outside");
    return [{ published: value / (1 + off), estimate: value, low: Number(low), high: Number(high), inside }];
  });
}

const SIZE = { width: 640, height: 460, left: 56, top: 16, plot: 400 } as const;
/** GiB at the ends of both axes. */
const RANGE = [4, 128] as const;
const TICKS = [4, 8, 16, 32, 64, 128];

/** Pixels from the origin of an axis. */
function along(gib: number): number {
  const [low, high] = RANGE.map(Math.log2) as [number, number];
  const share = (Math.log2(Math.min(RANGE[1], Math.max(RANGE[0], gib))) - low) / (high - low);
  return Math.round(share * SIZE.plot * 10) / 10;
}

/** The picture: published figures to the right, estimates upwards, each with its band. */
export function pictureOf(points: readonly Point[]): string {
  const { width, height, left, top, plot } = SIZE;
  const x = (gib: number): number => left + along(gib);
  const y = (gib: number): number => top + plot - along(gib);
  const inside = points.filter((point) => point.inside).length;
  const title = `${points.length} peaks that others measured on real cards against the estimate: ${inside} lie inside the stated band.`;
  const grid = TICKS.flatMap((gib) => [
    `<path class="grid" d="M${x(gib)} ${top}V${top + plot}M${left} ${y(gib)}H${left + plot}"/>`,
    `<text class="quiet" x="${x(gib)}" y="${top + plot + 18}" text-anchor="middle">${gib}</text>`,
    `<text class="quiet" x="${left - 8}" y="${y(gib) + 4}" text-anchor="end">${gib}</text>`,
  ]);
  const dots = points.map(({ published, estimate, low, high, inside: fits }) => {
    const kind = fits ? "in" : "out";
    return `<path class="band ${kind}" d="M${x(published)} ${y(low)}V${y(high)}"/><circle class="${kind}" cx="${x(published)}" cy="${y(estimate)}" r="3"/>`;
  });
  const key = left + plot + 20;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="system-ui,sans-serif" font-size="12">
<title>${title}</title>
<style>
.back{fill:#fff}.grid{stroke:#e3e3e3}.same{stroke:#8a8a8a;stroke-dasharray:5 4}.text{fill:#222}.quiet{fill:#5c5c5c}
.band{stroke-width:1.5;fill:none;stroke-opacity:.45}.band.in{stroke:#1a70c8}.band.out{stroke:#c4320a}circle.in{fill:#1a70c8}circle.out{fill:#c4320a}
@media(prefers-color-scheme:dark){.back{fill:#1b1b1b}.grid{stroke:#363636}.same{stroke:#8a8a8a}.text{fill:#ddd}.quiet{fill:#a6a6a6}.band.in{stroke:#59a4f9}.band.out{stroke:#ff8a65}circle.in{fill:#59a4f9}circle.out{fill:#ff8a65}}
</style>
<rect class="back" width="${width}" height="${height}"/>
${grid.join("")}
<path class="same" d="M${x(RANGE[0])} ${y(RANGE[0])}L${x(RANGE[1])} ${y(RANGE[1])}"/>
${dots.join("\n")}
<text class="text" x="${left + plot / 2}" y="${top + plot + 38}" text-anchor="middle">measured by others, GiB</text>
<text class="text" transform="translate(16 ${top + plot / 2}) rotate(-90)" text-anchor="middle">estimate, GiB</text>
<circle class="in" cx="${key}" cy="${top + 10}" r="4"/><text class="text" x="${key + 10}" y="${top + 14}">${inside} inside the band</text>
<circle class="out" cx="${key}" cy="${top + 32}" r="4"/><text class="text" x="${key + 10}" y="${top + 36}">${points.length - inside} outside</text>
<path class="same" d="M${key - 5} ${top + 54}h12"/><text class="text" x="${key + 10}" y="${top + 58}">the same</text>
</svg>
`;
}

/** First match of a pattern in a page; throws where the page has another form. */
function found(page: string, pattern: RegExp): string {
  const [, figure] = pattern.exec(page) ?? [];
  if (figure === undefined) throw new Error(`no ${pattern.source}`);
  return figure.replace(/\s+/g, " ");
}

/** docs/believe.md */
export function believePage(accuracy: string, published: string): string {
  const cases = found(accuracy, /^\| all \| (\d+) \|/m);
  const median = found(accuracy, /^\| all \| \d+ \| ([\d.]+(?: %)?) \|/m);
  const real = found(published, /^(\d+) published peaks/m);
  const inside = found(published, /: (\d+) inside the stated band/);
  const typical = found(published, /error of the one number: median\s+([\d.]+ %)/);
  return `# Why believe the number

<!-- Made by \`npm run generate\` from accuracy.md and published-memory.md; do not edit. -->

![Peaks that others measured on real cards, against the estimate](images/published.svg)

Each dot is a run that somebody else measured on a real card and published. The line through it is the band that the estimate
states. On the dashed line, both are the same.

| question | answer |
|---|---|
| Is it fitted? | The number is not: the model's own code is run on paper, operator by operator, and each rule cites the library's source. The band has some room beyond the rules, sized on measured runs, with each table held out in turn ([coverage.md](coverage.md)). |
| Against PyTorch itself | ${cases} runs of which every allocation is known: ${median} off in the median ([accuracy.md](accuracy.md)). |
| Against real cards | ${real} published peaks: ${inside} inside the band, ${typical} off in the median, every miss explained ([published-memory.md](published-memory.md)). |
| Where may it be wrong? | What is not counted is said under the verdict; code that stands in for a model's own is said first. |
| Does it hold for *my* run? | Record one: [receipts](receipts.md) stand beside the estimate. Or let PyTorch count on no GPU: [\`--against-pytorch\`](your-own-model.md). |
`;
}
