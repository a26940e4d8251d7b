/** Key-value caches of generation: what each kind holds on the device. */
import assert from "node:assert/strict";
import { Ledger } from "../../../src/core/engine/ledger";
import { Torch } from "../../../src/core/engine/torch";
import { type CacheStyle, SimulatedCache } from "../../../src/core/training/generation/cache";

const LAYERS = 4;
const [SEQUENCES, HEADS, WIDTH, PROMPT, NEW] = [2, 4, 64, 500, 200];
/** Keys and values of one token in one layer, in bfloat16. */
const PER_TOKEN = SEQUENCES * HEADS * 2 * WIDTH * 2;

interface Held {
  /** Bytes of every layer, wherever they are. */
  readonly bytes: number;
  /** On the device between two tokens, and at most. */
  readonly device: number;
  readonly peak: number;
}

/** A prompt, then token by token, with the attention's operands gone after each layer. */
function generated(style: CacheStyle, staticTokens: number | null = null): Held {
  const torch = new Torch(new Ledger());
  torch.ledger.startCounting();
  const cache = new SimulatedCache(() => null, HEADS, staticTokens, 1, style);
  const forward = (tokens: number): void => {
    cache.begin();
    for (let layer = 0; layer < LAYERS; layer++) {
      const given = [0, 1].map(() => torch.empty("view", [SEQUENCES, HEADS, tokens, WIDTH], "bfloat16"));
      const { key, value } = cache.update(torch, tokens, given[0]!, given[1]!, false);
      for (const tensor of [...given, key, value]) tensor.release();
    }
  };
  forward(PROMPT);
  for (let token = 0; token < NEW; token++) forward(1);
  const held = { bytes: cache.bytes(() => 1), device: torch.ledger.live, peak: torch.ledger.peak };
  cache.release();
  assert.equal(torch.ledger.live, 0);
  return held;
}

const WHOLE = LAYERS * (PROMPT + NEW) * PER_TOKEN;
const near = (value: number, wanted: number): void =>
  assert.ok(Math.abs(value - wanted) < 0.02 * wanted, `${value} for ${wanted}`);

describe("key-value caches", () => {
  it("grow by concatenation: the old and the new tensor of a layer exist together", () => {
    const { bytes, device, peak } = generated("dynamic");
    assert.equal(bytes, WHOLE);
    near(device, WHOLE);
    assert.ok(peak > WHOLE + ((PROMPT + NEW) * PER_TOKEN) / 2);
  });

  it("are made for the longest sequence when they are static", () => {
    assert.equal(generated("dynamic", 1024).bytes, LAYERS * 1024 * PER_TOKEN);
  });

  it("wait on the host but for the running layer and the next when they are offloaded", () => {
    const { bytes, device, peak } = generated("offloaded");
    assert.equal(bytes, WHOLE);
    near(device, WHOLE / 2);
    assert.ok(peak < WHOLE);
  });

  it("are four bits but for the newest tokens when they are quantized, and whole while a layer attends", () => {
    const { bytes, peak } = generated("quantized");
    // 128 tokens are packed at a time; each group of 64 has two numbers of two bytes.
    const recent = NEW % 128;
    near(bytes, LAYERS * PER_TOKEN * (recent + (PROMPT + NEW - recent) * (0.5 / 2 + 4 / 64 / 2)));
    assert.ok(peak > bytes + 2 * (PROMPT + NEW - recent) * PER_TOKEN - PER_TOKEN * recent);
    assert.ok(peak < WHOLE);
  });
});
