/** Modules of a script's own in the place of a network's. */
import { strict as assert } from "node:assert";
import { withReplaced } from "../../../src/core/graph/replaced";
import type { ArchitectureGraph, FamilyGraphs, Instruction } from "../../../src/core/graph/types";
import type { OwnLayer } from "../../../src/terms/own-loss";

const conv = (path: string, inside: number, stride = 1): OwnLayer => ({
  ...{ path, kind: "Conv2d", sizes: [8, inside, 3, 3], bias: false },
  options: [stride, 1, 1, 1],
});

const BODY: readonly Instruction[] = [
  { call: "Conv2d", path: "stem", in: ["%x"], attrs: { stride: [2, 2] }, out: ["a"] },
  { scope: "pool" },
  { op: "max_pool2d", in: ["%a", [3, 3], [2, 2], [1, 1]], out: ["b"] },
  { drop: ["a"] },
  { scope: "" },
  { op: "flatten.using_ints", in: ["%b", 1], out: ["c"] },
  { drop: ["b"] },
  { call: "Linear", path: "fc", in: ["%c"], out: ["d"] },
  { drop: ["c"] },
];

function family(body = BODY): FamilyGraphs {
  const spec = (name: string, shape: readonly string[]) => ({ name, shape, module: "" });
  const graph = {
    ...{ task: "image-cls", attention: "none", when: [], tied: [], buffers: [], blocks: [] },
    parameters: [spec("stem.weight", ["8", "3", "7", "7"]), spec("fc.weight", ["num_labels", "512"])],
    batch: [{ name: "x", shape: ["B", "3", "I", "I"], dtype: "$input" }],
    main: { inputs: ["x"], outputs: ["d"], body },
  } as unknown as ArchitectureGraph;
  return {
    ...{ family: "net", captured: {}, defaults: {}, derived: {}, layerKind: null, aliases: {}, head: null },
    graphs: [graph],
  };
}

const put = (path: string, layers: readonly OwnLayer[], body = BODY) => {
  const { graphs, replaced } = withReplaced(family(body), [{ path, key: `net.${path}`, layers }]);
  return { graph: graphs.graphs[0]!, isPut: replaced.has(`net.${path}`) };
};

describe("modules put in the place of a network's", () => {
  it("takes a first convolution with its own steps, and pictures of its channels", () => {
    const { graph, isPut } = put("stem", [conv("stem", 1)]);
    assert.ok(isPut);
    const [first] = graph.main.body;
    assert.deepEqual(first && "call" in first && first.attrs?.["stride"], [1, 1]);
    assert.deepEqual(graph.parameters.find(({ name }) => name === "stem.weight")?.shape, ["8", "1", "3", "3"]);
    assert.deepEqual(graph.batch[0]?.shape, ["B", "1", "I", "I"]);
  });

  it("lets a module without weights do nothing", () => {
    const { graph } = put("pool", [{ path: "pool", kind: "Identity", sizes: [], bias: false }]);
    const ops = graph.main.body.flatMap((one) => ("op" in one ? [one.op] : []));
    assert.deepEqual(ops, ["alias", "flatten.using_ints"]);
    assert.ok(graph.main.body.some((one) => "drop" in one && one.drop.includes("a")));
  });

  it("runs a head's layers one after another, each dropped as the next has read it; sizes of the one before are known", () => {
    const { graph } = put("fc", [
      { path: "fc.0", kind: "Linear", sizes: [{ config: "net.fc.in_features", times: 1 }, 64], bias: true },
      { path: "fc.1", kind: "ReLU", sizes: [], bias: false, options: [1] },
      { path: "fc.2", kind: "Linear", sizes: [64, 5], bias: true },
    ]);
    const shapes = Object.fromEntries(graph.parameters.map(({ name, shape }) => [name, shape]));
    assert.deepEqual(shapes["fc.0.weight"], ["64", "512"]);
    assert.deepEqual(shapes["fc.2.bias"], ["5"]);
    const drops = graph.main.body.flatMap((one) => ("drop" in one ? [one.drop] : []));
    assert.deepEqual(drops.slice(-2), [["d.0"], ["c"]]);
    assert.ok(graph.main.body.some((one) => "op" in one && one.op === "relu_"));
  });

  it("leaves what is no module of it, what is not followed, and what gives several values", () => {
    for (const [path, layers] of [
      ["nothing", [conv("nothing", 3)]],
      ["stem", [{ path: "stem", kind: "BatchNorm1d", sizes: [8], bias: true }]],
      ["fc", [{ path: "fc", kind: "Linear", sizes: [{ config: "other.width", times: 1 }, 5], bias: true }]],
    ] as const)
      assert.equal(put(path, layers).isPut, false, path);
    const both: readonly Instruction[] = [...BODY, { op: "add.Tensor", in: ["%d", "%a"], out: ["e"] }];
    const kept = put("pool", [{ path: "pool", kind: "Identity", sizes: [], bias: false }], both);
    assert.equal(kept.isPut, true, "what is read outside is the module's input");
    const twice: readonly Instruction[] = [...BODY, { scope: "pool" }, { op: "relu", in: ["%d"], out: ["e"] }];
    assert.equal(put("pool", [{ path: "pool", kind: "Identity", sizes: [], bias: false }], twice).isPut, false);
  });
});
