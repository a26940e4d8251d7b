import assert from "node:assert/strict";
import { expandablePeak } from "../../../src/core/allocator/expandable";
import { type EventStream, type PoolSettings, pressedPool, reservedPeak } from "../../../src/core/allocator/replay";
import { roundSize } from "../../../src/core/engine/ledger";

const MIB = 1 << 20;
const KIB = 1 << 10;

/** Replays a script: a number allocates so many bytes, `"-k"` frees the k-th allocation. */
function replay(script: readonly (number | string)[], loaded = 0, settings: PoolSettings = {}): number {
  return reservedPeak(streamOf(script), loaded, settings);
}

function streamOf(script: readonly (number | string)[]): EventStream {
  const events: number[] = [];
  const bytes: number[] = [];
  for (const item of script) {
    if (typeof item === "number") {
      events.push(bytes.length);
      bytes.push(item);
    } else events.push(~Number(item.slice(1)));
  }
  return { events, bytes };
}

/** A stream that is written as it goes: blocks are named by how many of them came before, another stream's aside. */
function streams() {
  const events: number[] = [];
  const bytes: number[] = [];
  const sides: number[] = [];
  const named: number[] = [];
  const place = (size: number, side: number): number => {
    events.push(bytes.push(size) - 1);
    sides.push(side);
    return bytes.length - 1;
  };
  const other = (): void => {
    events.push(~place(512, 1));
  };
  other();
  return {
    take: (size: number): number => named.push(place(size, 0)) - 1,
    free: (name: number): void => void events.push(~named[name]!),
    other,
    peak: (): number => reservedPeak({ events, bytes, sides }),
  };
}

describe("the caching allocator", () => {
  it("takes segments of 2 MiB for blocks up to 1 MiB, of 20 MiB below 10 MiB, and rounds larger ones to 2 MiB", () => {
    assert.equal(replay([512]), 2 * MIB);
    assert.equal(replay([MIB]), 2 * MIB);
    assert.equal(replay([MIB + 512]), 20 * MIB);
    assert.equal(replay([10 * MIB - 512]), 20 * MIB);
    assert.equal(replay([10 * MIB]), 10 * MIB);
    assert.equal(replay([10 * MIB + 512]), 12 * MIB);
  });

  it("fills a segment before it opens another", () => {
    assert.equal(replay([MIB, MIB]), 2 * MIB);
    assert.equal(replay([MIB, MIB, 512]), 4 * MIB);
    assert.equal(replay([5 * MIB, 5 * MIB, 5 * MIB, 5 * MIB]), 20 * MIB);
  });

  it("keeps small and large blocks in pools of their own", () => {
    // 18 MiB of the large segment are free, and of no use to a small block
    assert.equal(replay([2 * MIB, 512]), 22 * MIB);
  });

  it("keeps the blocks of every stream in pools of their own", () => {
    const script = [40 * MIB, "-0", 40 * MIB];
    assert.equal(replay(script), 40 * MIB);
    const stream = { ...streamOf(script), sides: [1, 0] };
    assert.equal(reservedPeak(stream), 80 * MIB);
    assert.equal(expandablePeak(stream), 80 * MIB);
    // Where the device has no more, what lies free in other streams' pools goes back, too.
    assert.deepEqual(pressedPool(stream, 0, {}, 50 * MIB), { peak: 40 * 2048, releases: 1, served: true });
  });

  it("leaves the same pool behind where a block is freed at once, whatever else happens in between", () => {
    let seed = 7;
    const draw = (below: number): number => {
      seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
      return seed % below;
    };
    for (let round = 0; round < 60; round++) {
      // The first block is another stream's; in `apart` one of its own stands between a block and its end.
      const [plain, apart] = [streams(), streams()];
      const alive: number[] = [];
      for (let k = 0; k < 200; k++) {
        const bytes = 512 * (1 + draw(draw(3) === 0 ? 4000 : 60_000));
        if (draw(3) === 0 && alive.length > 0) {
          const [gone] = alive.splice(draw(alive.length), 1);
          for (const stream of [plain, apart]) stream.free(gone!);
        } else if (draw(2) === 0) {
          alive.push(plain.take(bytes));
          apart.take(bytes);
        } else {
          plain.free(plain.take(bytes));
          const block = apart.take(bytes);
          apart.other();
          apart.free(block);
        }
      }
      assert.equal(plain.peak(), apart.peak(), `round ${round}`);
    }
  });

  it("takes the smallest free block that is large enough, then the lowest", () => {
    // free blocks of 4 and 3 MiB: the 3 MiB request takes the second and leaves room for 4
    const script = [4 * MIB, 2 * MIB, 3 * MIB, 2 * MIB, 9 * MIB, "-0", "-2", 3 * MIB, 4 * MIB];
    assert.equal(replay(script), 20 * MIB);
  });

  it("does not split off a megabyte or less from a large block", () => {
    // 11 MiB in a segment of 12: the rest of 1 MiB stays with the block
    assert.equal(replay([11 * MIB, MIB]), 12 * MIB + 2 * MIB);
    // a free block of 12 MiB serves 11 MiB whole; 3 MiB then need a new segment
    assert.equal(replay([12 * MIB, "-0", 11 * MIB, 3 * MIB]), 32 * MIB);
    assert.equal(replay([12 * MIB, "-0", 8 * MIB, 3 * MIB]), 12 * MIB);
  });

  it("splits small blocks down to 512 bytes", () => {
    assert.equal(replay([2 * MIB - 512 - MIB, MIB, 512]), 2 * MIB);
  });

  it("keeps blocks of max_split_size and more whole", () => {
    const settings = { maxSplitBytes: 32 * MIB };
    // Too small a request for the free block of 40 MiB.
    assert.equal(replay([40 * MIB, "-0", 10 * MIB]), 40 * MIB);
    assert.equal(replay([40 * MIB, "-0", 10 * MIB], 0, settings), 50 * MIB);
    // Large enough, and it gets all of it: what follows needs a segment.
    assert.equal(replay([40 * MIB, "-0", 36 * MIB, 3 * MIB]), 40 * MIB);
    assert.equal(replay([40 * MIB, "-0", 36 * MIB, 3 * MIB], 0, settings), 60 * MIB);
    // More than 20 MiB to spare is too much.
    assert.equal(replay([60 * MIB, "-0", 36 * MIB], 0, settings), 96 * MIB);
  });

  it("rounds to steps between powers of two with roundup_power2_divisions", () => {
    assert.equal(roundSize(1200, 1), 1536);
    assert.equal(roundSize(1200, 4), 1536);
    assert.equal(roundSize(1200 * KIB, 4), 1280 * KIB);
    assert.equal(roundSize(1281 * KIB, 4), 1536 * KIB);
    assert.equal(roundSize(MIB, 4), MIB);
    assert.equal(roundSize(MIB + 1, 1), MIB + 512);
  });

  it("joins free neighbours", () => {
    const script = [5 * MIB, 5 * MIB, 5 * MIB, 5 * MIB, "-1", "-2", 10 * MIB - 512];
    assert.equal(replay(script), 20 * MIB);
    // not across a block in use
    assert.equal(replay([5 * MIB, 5 * MIB, 5 * MIB, 5 * MIB, "-0", "-2", 9 * MIB]), 40 * MIB);
  });

  it("never gives a segment back", () => {
    assert.equal(replay([100 * MIB, "-0", 102 * MIB, "-1"]), 202 * MIB);
    assert.equal(replay([100 * MIB, "-0", 100 * MIB]), 100 * MIB);
  });

  it("forgets what was freed while loading", () => {
    assert.equal(replay([100 * MIB, 50 * MIB, "-0", 60 * MIB], 3), 110 * MIB);
    assert.equal(replay([100 * MIB, 50 * MIB, "-0", 60 * MIB]), 150 * MIB);
  });

  it("reserves at least what is allocated, on random streams", () => {
    let seed = 1;
    const random = (): number => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    for (let round = 0; round < 20; round++) {
      const events: number[] = [];
      const bytes: number[] = [];
      const alive: number[] = [];
      let live = 0;
      let peak = 0;
      for (let k = 0; k < 400; k++) {
        if (alive.length > 0 && random() < 0.45) {
          const [id] = alive.splice(Math.floor(random() * alive.length), 1) as [number];
          events.push(~id);
          live -= bytes[id]!;
        } else {
          const size = Math.ceil((2 ** (random() * 16) * KIB) / 512) * 512;
          events.push(bytes.length);
          alive.push(bytes.length);
          bytes.push(size);
          live += size;
          peak = Math.max(peak, live);
        }
      }
      const reserved = reservedPeak({ events, bytes });
      assert.ok(reserved >= peak);
      assert.equal(reserved % (2 * MIB), 0);
    }
  });

  it("is emptied before another allocator takes memory, and both count", () => {
    const script = [12 * MIB, 4 * MIB, "-0", 50 * MIB, "-2", 12 * MIB];
    assert.equal(replay(script), 82 * MIB);
    // 20 MiB of which a part is in use stay, the other segment goes, and comes back later.
    assert.equal(reservedPeak({ ...streamOf(script), apart: new Set([2]) }), 70 * MIB);
  });
});

describe("the caching allocator without room to grow", () => {
  /** As above, in a pool of so many bytes. */
  function pressed(script: readonly (number | string)[], limit: number): { served: boolean; releases: number } {
    const { served, releases } = pressedPool(streamOf(script), 0, {}, limit);
    return { served, releases };
  }

  it("gives whole free segments back when it needs another", () => {
    const script = [12 * MIB, "-0", 14 * MIB];
    assert.deepEqual(pressed(script, 26 * MIB), { served: true, releases: 0 });
    assert.deepEqual(pressed(script, 25 * MIB), { served: true, releases: 1 });
    assert.deepEqual(pressed(script, 14 * MIB), { served: true, releases: 1 });
    assert.deepEqual(pressed(script, 13 * MIB), { served: false, releases: 1 });
  });

  it("keeps segments of which a part is in use", () => {
    // 16 of 20 MiB are free, and 14 of them cannot be had elsewhere
    const script = [4 * MIB, 4 * MIB, 4 * MIB, 4 * MIB, 4 * MIB, "-0", "-1", "-2", "-3", 22 * MIB];
    assert.deepEqual(pressed(script, 41 * MIB), { served: false, releases: 1 });
    assert.deepEqual(pressed(script, 42 * MIB), { served: true, releases: 0 });
  });

  it("gives back segments of both pools, and takes them anew", () => {
    const script = [MIB, 12 * MIB, "-0", "-1", 14 * MIB, "-2", MIB, 12 * MIB];
    assert.deepEqual(pressed(script, 14 * MIB), { served: true, releases: 2 });
  });

  it("finds a place among thousands of free blocks of one size as a sorted list would", () => {
    const stream = holesOf(4000);
    assert.equal(reservedPeak(stream), plainPeak(stream));
  });
});

/** Small blocks of few sizes, freed here and there, and asked for again: many free blocks of each size. */
function holesOf(count: number): EventStream {
  const script: (number | string)[] = [];
  let seed = 1;
  const draw = (most: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((seed / 0x80000000) * most);
  };
  const alive: number[] = [];
  let made = 0;
  const take = (bytes: number): void => {
    alive.push(made++);
    script.push(bytes);
  };
  for (let k = 0; k < count; k++) take(512);
  for (let k = 0; k < count / 2; k++) script.push(`-${alive.splice(draw(alive.length), 1)[0]}`);
  for (let k = 0; k < 2 * count; k++) {
    if (draw(2) === 0 && alive.length > 0) script.push(`-${alive.splice(draw(alive.length), 1)[0]}`);
    else take(512 * (1 + draw(3)));
  }
  return streamOf(script);
}

/** The small pool in a few plain lines: all blocks of all segments in a row, the best of the free ones looked for. */
function plainPeak({ events, bytes }: EventStream): number {
  interface Block {
    readonly segment: number;
    size: number;
    id: number | null;
  }
  const row: Block[] = [];
  let segments = 0;
  for (const event of Array.from(events)) {
    if (event >= 0) {
      const size = bytes[event]!;
      let best = -1;
      for (let k = 0; k < row.length; k++)
        if (row[k]!.id === null && row[k]!.size >= size && (best < 0 || row[k]!.size < row[best]!.size)) best = k;
      if (best < 0) best = row.push({ segment: segments++, size: 2 * MIB, id: null }) - 1;
      const block = row[best]!;
      if (block.size > size) row.splice(best + 1, 0, { segment: block.segment, size: block.size - size, id: null });
      block.size = size;
      block.id = event;
      continue;
    }
    let at = row.findIndex(({ id }) => id === ~event);
    row[at]!.id = null;
    for (const next of [at + 1, at]) {
      const [before, after] = [row[next - 1], row[next]];
      if (before?.id !== null || after?.id !== null || before.segment !== after.segment) continue;
      before.size += after.size;
      row.splice(next, 1);
      at = next - 1;
    }
  }
  return segments * 2 * MIB;
}
