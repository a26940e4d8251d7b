/** The hover's picture: nothing in it runs into something else, and no room is left empty. */
import { strict as assert } from "node:assert";
import type { HoverPicture } from "../../src/analysis/hover/picture";
import { pictureSvg } from "../../src/server/hoverPicture";

const GIB = 2 ** 30;
const PARTS = {
  weights: 6,
  gradients: 6,
  optimizer: 12,
  activations: 112.8,
  "logits and loss": 47,
  "allocator cache": 6.9,
};
const OPTIMIZERS =
  "adamw_torch adamw_torch_fused adamw_bnb_8bit paged_adamw_32bit paged_adamw_8bit adafactor lion_8bit sgd";

function picture(values: readonly string[], usable: number | null = 79.1): HoverPicture {
  const points = values.map((value, index) => ({
    value,
    bytes: (60 + index * 10) * GIB,
    fit: usable !== null && 60 + index * 10 > usable ? ("does-not-fit" as const) : ("fits" as const),
    now: index === 1,
  }));
  return {
    parts: Object.entries(PARTS).map(([name, size]) => ({ kind: name.replaceAll(" ", "-"), name, bytes: size * GIB })),
    ...{ usedBytes: 190.9 * GIB, lowBytes: 184 * GIB, highBytes: 195 * GIB },
    usableBytes: usable === null ? null : usable * GIB,
    usableText: usable === null ? "" : `${usable} usable`,
    curve: { label: "optimizer", points },
    alt: "",
  };
}

interface Word {
  readonly x: number;
  readonly y: number;
  readonly anchor: string;
  readonly text: string;
}

function words(svg: string): Word[] {
  return [...svg.matchAll(/<text x="([\d.-]+)" y="([\d.-]+)"([^>]*)>([^<]+)</g)].map(
    ([, x, y, more = "", text = ""]) => ({
      ...{ x: Number(x), y: Number(y), text },
      anchor: /text-anchor="(\w+)"/.exec(more)?.[1] ?? "start",
    }),
  );
}

/** Left and right end of a word, in letters of a narrow face. */
function ends({ x, anchor, text }: Word): readonly [number, number] {
  const width = text.length * 11 * 0.5;
  const left = anchor === "middle" ? x - width / 2 : anchor === "end" ? x - width : x;
  return [left, left + width];
}

const heightOf = (svg: string) => Number(/height="(\d+)"/.exec(svg)?.[1]);

describe("hover picture", () => {
  for (const [name, values] of Object.entries({
    "optimizers by name": OPTIMIZERS.split(" "),
    "three long names": ["flash_attention_2", "flash_attention_3", "kernels-community/flash"],
    numbers: ["1,024", "2,048", "4,096", "8,192", "16,384"],
  })) {
    it(`writes ${name} whole and apart`, () => {
      const svg = pictureSvg(picture(values), "dark");
      const written = words(svg);
      for (const value of values)
        assert.ok(
          written.some(({ text }) => text === value),
          value,
        );
      for (const one of written)
        for (const other of written) {
          if (one === other || Math.abs(one.y - other.y) > 8) continue;
          const [a, b] = [ends(one), ends(other)];
          assert.ok(a[1] <= b[0] || b[1] <= a[0], `${one.text} over ${other.text}`);
        }
      for (const [, x, y] of svg.matchAll(/<rect x="([\d.]+)" y="(\d+)" width="[\d.]+" height="6"/g))
        for (const one of written.filter((word) => word.anchor === "start" && Math.abs(word.y - Number(y) - 7) < 1)) {
          const bold = one.x + one.text.length * 11 * 0.64;
          if (one.x < Number(x))
            assert.ok(bold <= Number(x) + 1, `${one.text} ends at ${bold}, its bar begins at ${x}`);
        }
      assert.ok(heightOf(svg) <= 170, `${heightOf(svg)} pixels: the hover scrolls from 250 on`);
    });
  }

  it("names smaller parts where a larger one has no room", () => {
    assert.ok(words(pictureSvg(picture(["1", "2"]), "dark")).some(({ text }) => text === "weights 6.0"));
  });

  it("leaves no room for a limit that there is not", () => {
    const height = (usable: number | null) => heightOf(pictureSvg(picture(["1", "2"], usable), "dark"));
    assert.ok(height(null) < height(79.1));
  });
});
