/** Where two event streams part: differences that are planted in a run's own events are found, first ones first. */
import { strict as assert } from "node:assert";
import fc from "fast-check";
import { type Block, partingOf, type Stream, streamOf } from "../../../src/core/matching/parting";
import { simulate } from "../../../src/core/simulate";
import { graphsOf } from "../receipts/case";
import { causalRun } from "../runs";

async function streamOfRun(change: Parameters<typeof causalRun>[0] = {}): Promise<Stream> {
  const result = simulate(causalRun(change), await graphsOf("llama"));
  assert.ok(result.ok);
  return streamOf(result.simulation.ledger);
}

/** The stream without one block. */
function without({ blocks, events }: Stream, id: number): Stream {
  return { blocks, events: Array.from(events).filter((event) => event !== id && event !== ~id) };
}

/** The stream with a block of another size. */
function resized({ blocks, events }: Stream, id: number, bytes: number): Stream {
  return { events, blocks: blocks.map((block, k) => (k === id ? { ...block, bytes } : block)) };
}

/** The stream with a block that is never freed. */
function kept({ blocks, events }: Stream, id: number): Stream {
  return { blocks, events: Array.from(events).filter((event) => event !== ~id) };
}

/** Blocks of the first step's forward and backward that are told from their neighbours by their size. */
function telling({ blocks, events }: Stream): readonly number[] {
  const made = Array.from(events).filter((id) => id >= 0 && (blocks[id]?.bytes ?? 0) >= 8192);
  return made.filter((id, k) => {
    const block = blocks[id];
    const alone =
      blocks[made[k - 1] ?? -1]?.bytes !== block?.bytes && blocks[made[k + 1] ?? -1]?.bytes !== block?.bytes;
    return alone && k < made.length / 2 && (block?.phase === "forward" || block?.phase === "backward");
  });
}

describe("matching: where two streams part", () => {
  let stream: Stream;
  let candidates: readonly number[];
  before(async () => {
    stream = await streamOfRun();
    candidates = telling(stream);
    assert.ok(candidates.length > 50);
  });

  const planted = (check: (id: number, block: Block) => void): void =>
    fc.assert(
      fc.property(fc.nat(candidates.length - 1), (at) => {
        const id = candidates[at] ?? 0;
        const block = stream.blocks[id];
        assert.ok(block);
        check(id, block);
      }),
      { numRuns: 60 },
    );

  it("finds nothing in equal streams, nor in one that ends sooner", () => {
    assert.equal(partingOf(stream, stream), null);
    const events = Array.from(stream.events);
    assert.equal(partingOf({ ...stream, events: events.slice(0, events.length - 40) }, stream), null);
  });

  it("names a block that only PyTorch makes, and one that only the estimate makes", () => {
    planted((id, block) => {
      const more = partingOf(stream, without(stream, id));
      assert.equal(more?.kind, "made");
      assert.equal(more?.measured, block);
      assert.equal(more?.bytes, block.bytes);
      const less = partingOf(without(stream, id), stream);
      assert.equal(less?.estimated, block);
      assert.equal(less?.measured, null);
    });
  });

  it("names the one of several blocks of a size that the other side has no counterpart of", () => {
    const named = (operators: string): Stream => ({
      events: Array.from({ length: operators.length }, (_, k) => k),
      blocks: Array.from(operators, (operator, k) => {
        const bytes = /[a-m]/.test(operator) ? 8192 : 16384 * (k + 1);
        return { bytes: operator === "w" ? 2 ** 20 : bytes, phase: "forward", operator, scope: "", place: "" };
      }),
    });
    const tail = "wwwwwww";
    for (const [measured, estimated, operator] of [
      [`wabcd${tail}`, `wabd${tail}`, "c"],
      [`wcabd${tail}`, `wabd${tail}`, "c"],
      [`waad${tail}`, `wad${tail}`, "a"],
      [`wabdc${tail}`, `wabd${tail}`, "c"],
    ] as const) {
      const found = partingOf(named(measured), named(estimated));
      assert.deepEqual([found?.measured?.operator, found?.estimated], [operator, null], measured);
      assert.equal(partingOf(named(estimated), named(measured))?.estimated?.operator, operator);
    }
  });

  it("names a block of another size on both sides", () => {
    planted((id, block) => {
      const found = partingOf(resized(stream, id, block.bytes * 2 + 512), stream);
      assert.equal(found?.kind, "made");
      assert.equal(found?.estimated, block);
      assert.equal(found?.measured?.operator, block.operator);
      assert.equal(found?.bytes, block.bytes + 512);
    });
  });

  it("names a block that one side keeps", () => {
    const freed = new Set(Array.from(stream.events).filter((event) => event < 0));
    planted((id, block) => {
      if (!freed.has(~id)) return;
      const found = partingOf(kept(stream, id), stream);
      // Nothing large is made between this block's end and the stream's: there is nothing to tell it by.
      if (found === null) return;
      assert.deepEqual([found.kind, found.measured, found.bytes], ["kept", block, block.bytes]);
    });
  });

  it("compares what is alive before the first forward by its sizes alone", async () => {
    const weights = stream.blocks.findIndex((block) => block?.phase === "load" && block.bytes > 8192);
    const found = partingOf(without(stream, weights), stream);
    assert.equal(found?.kind, "before");
    assert.equal(found?.estimated?.bytes, stream.blocks[weights]?.bytes);
    const longer = { microBatchSize: 8, sequenceLength: 512 };
    const other = partingOf(await streamOfRun(longer), await streamOfRun({ sequenceLength: 512 }));
    // Twice the samples: the inputs are there first.
    assert.deepEqual([other?.kind, other?.bytes], ["before", 4 * 512 * 8]);
  });

  describe("names the first event that a setting makes different", () => {
    const table = 1000 * 64;
    const hidden = 4 * 64 * 64 * 4;
    const plants: readonly (readonly [
      what: string,
      change: Parameters<typeof causalRun>[0],
      first: readonly [kind: string, phase: string, measured: string | null, estimated: string | null],
    ])[] = [
      [
        "weights of 16 bits",
        { loadDtype: "bfloat16" },
        ["before", "load", ` empty ${table * 2}`, ` empty ${table * 4}`],
      ],
      [
        "checkpoints",
        { checkpointing: { useReentrant: false } },
        [
          "kept",
          "forward",
          `model.layers.0.input_layernorm mul ${hidden}`,
          `model.layers.0.input_layernorm mul ${hidden}`,
        ],
      ],
      [
        "autocast",
        { autocast: "bfloat16" },
        [
          "made",
          "forward",
          `model.layers.0.self_attn.q_proj _to_copy ${64 * 64 * 2}`,
          `model.layers.0.self_attn.q_proj mm ${hidden}`,
        ],
      ],
      [
        "eager attention, whose mask is made of numbers",
        { attention: "eager" },
        ["made", "forward", "model where 65536", null],
      ],
      [
        "an optimizer without states",
        { optimizer: { name: "sgd", args: {} } },
        ["made", "optimizer", null, ` zeros_like ${table * 4}`],
      ],
    ];
    const told = (block: Block | null): string | null => block && `${block.scope} ${block.operator} ${block.bytes}`;
    for (const [what, change, first] of plants)
      it(what, async () => {
        const found = partingOf(await streamOfRun(change), stream);
        assert.ok(found);
        const { phase } = found.measured ?? found.estimated ?? { phase: "" };
        assert.deepEqual([found.kind, phase, told(found.measured), told(found.estimated)], first);
      });
  });

  it("never throws on events of blocks that are not there", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -20, max: 20 })), (events) => {
        partingOf({ blocks: stream.blocks.slice(0, 5), events }, stream);
        partingOf(stream, { blocks: [], events });
      }),
    );
  });
});
