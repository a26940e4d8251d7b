import assert from "node:assert/strict";
import { cat } from "../../../src/core/engine/ops/layout";
import {
  attentionByParts,
  interpolate,
  picturePart,
  sampleAtPlaces,
  splitCat,
} from "../../../src/core/engine/ops/pictures";
import { windowsInColumns } from "../../../src/core/engine/ops/pooling";
import { lab, rounded } from "./lab";

describe("operators of models that read pictures", () => {
  it("attends in each picture for itself, then puts the outputs together", () => {
    const l = lab();
    const [query, key, value] = [0, 1, 2].map(() => l.leaf([1, 1, 128, 16], "bfloat16"));
    const made = l.made(() =>
      attentionByParts(l.torch, { query: query!, key: key!, value: value!, pictures: 2, window: 0, merge: 2 }),
    );
    const outputs = made.filter((line) => !line.endsWith(" 512"));
    const flash = "_scaled_dot_product_flash_attention";
    assert.deepEqual(outputs, [`${flash} ${64 * 16 * 2}`, `${flash} ${64 * 16 * 2}`, `cat ${128 * 16 * 2}`]);
  });

  it("cuts windows of whole tokens, smaller ones at the edges", () => {
    const l = lab();
    // 12 patches a side are 6 tokens: windows of 4 and 2 tokens a side, 64, 32, 32 and 16 patches.
    const [query, key, value] = [0, 1, 2].map(() => l.leaf([1, 1, 144, 64], "bfloat16"));
    const made = l.made(() =>
      attentionByParts(l.torch, { query: query!, key: key!, value: value!, pictures: 1, window: 4, merge: 2 }),
    );
    const outputs = made.filter((line) => !line.endsWith(" 512")).map((line) => Number(line.split(" ")[1]));
    assert.deepEqual(
      outputs,
      [64, 32, 32, 16, 144].map((patches) => rounded(patches * 64 * 2)),
    );
  });

  it("cuts recordings into windows of frames, the last of each a shorter one", () => {
    const l = lab();
    // Two recordings of 70 frames in windows of 32: 32, 32 and 6 of each.
    const [query, key, value] = [0, 1, 2].map(() => l.leaf([1, 1, 140, 64], "bfloat16"));
    const made = l.made(() =>
      attentionByParts(l.torch, {
        query: query!,
        key: key!,
        value: value!,
        pictures: 2,
        window: 32,
        merge: 1,
        heard: true,
      }),
    );
    const outputs = made.filter((line) => !line.endsWith(" 512")).map((line) => Number(line.split(" ")[1]));
    assert.deepEqual(
      outputs,
      [32, 32, 6, 32, 32, 6, 140].map((frames) => rounded(frames * 64 * 2)),
    );
  });

  it("rows split by picture and joined again are a copy", () => {
    const l = lab();
    const rows = l.leaf([6, 128]);
    let out = rows;
    assert.deepEqual(
      l.made(() => {
        out = splitCat(l.torch, rows, 3);
      }),
      [`cat ${6 * 128 * 4}`],
    );
    assert.deepEqual(out.sizes, [6, 128]);
  });

  it("columns of windows are as large as the picture where windows do not overlap, and keep nothing", () => {
    const l = lab();
    const picture = l.leaf([2, 4, 8, 8]);
    const before = l.live;
    const out = windowsInColumns(l.torch, picture, {
      kernel: [2, 2],
      stride: [2, 2],
      padding: [],
      dilation: [],
      ceiling: false,
    });
    assert.deepEqual(out.sizes, [2, 16, 16]);
    assert.equal(l.live - before, 2 * 16 * 16 * 4);
    const back = l.made(() => l.differentiate(out)).filter((line) => !line.startsWith("ones_like"));
    assert.deepEqual(back, [`col2im ${2 * 4 * 64 * 4}`]);
  });

  it("bilinear interpolation keeps nothing", () => {
    const l = lab();
    const picture = l.leaf([1, 4, 8, 8]);
    const before = l.live;
    const out = interpolate(l.torch, picture, [16, 16]);
    assert.deepEqual(out.sizes, [1, 4, 16, 16]);
    assert.equal(l.live - before, 4 * 256 * 4);
  });

  it("parts of one split that a loop takes one after the other put their gradients together once", () => {
    const l = lab();
    const rows = l.leaf([12, 8]);
    const before = l.live;
    const parts = [0, 1, 2].map((k) => picturePart(l.torch, rows, 4, k));
    assert.deepEqual(
      parts.map((part) => part.sizes),
      [
        [4, 8],
        [4, 8],
        [4, 8],
      ],
    );
    assert.equal(l.live, before);
    const out = cat(l.torch, parts, 0);
    for (const part of parts) part.release();
    const back = l.made(() => l.differentiate(out)).filter((line) => !line.startsWith("ones_like"));
    assert.deepEqual(back, ["cat 512"]);
  });

  it("linear interpolation of rows gives rows, and a gradient of the old length", () => {
    const l = lab();
    const rows = l.leaf([1, 8, 32]);
    const out = interpolate(l.torch, rows, [127], "upsample_linear1d");
    assert.deepEqual(out.sizes, [1, 8, 127]);
    const back = l.made(() => l.differentiate(out)).filter((line) => !line.startsWith("ones_like"));
    assert.deepEqual(back, [`upsample_linear1d_backward ${8 * 32 * 4}`]);
  });

  it("sampling at places keeps the picture, and makes a gradient of the places that nobody asked for", () => {
    const l = lab();
    const picture = l.leaf([1, 64, 8, 8]);
    const places = l.tensor([1, 256, 1, 2]);
    const out = sampleAtPlaces(l.torch, picture, places);
    assert.deepEqual(out.sizes, [1, 64, 256, 1]);
    const back = l.made(() => l.differentiate(out)).filter((line) => !line.startsWith("ones_like"));
    assert.deepEqual(back, [`grid_sampler_2d_backward ${64 * 8 * 8 * 4}`, `grid_sampler_2d_backward ${256 * 2 * 4}`]);
  });
});
