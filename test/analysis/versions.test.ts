/** Versions that requirements, lock files and environments pin. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { NEWEST, pinnedVersions } from "../../src/analysis/versions";
import { memoryRuntime, uri } from "./memory-runtime";

describe("analysis: pinned versions", () => {
  const cases: readonly [string, string, Readonly<Record<string, string>>][] = [
    [
      "exact",
      "torch==2.7.0+cu126\ntransformers[torch]==4.57.1 ; python_version > '3.9'\n",
      { torch: "2.7.0", transformers: "4.57.1" },
    ],
    ["compatible", 'dependencies = ["trl~=0.21.0", "peft (==0.17.1)"]\n', { trl: "0.21.0", peft: "0.17.1" }],
    [
      "upper bounds",
      "transformers>=4.40,<5.0.0\ntrl<=0.19.1\naccelerate<1.3\n",
      { transformers: "4.57.6", trl: "0.19.1", accelerate: "1.2" },
    ],
    [
      "open ranges",
      `torch>=2.1\ntransformers\npeft!=0.3\ntransformers<${Number.parseInt(NEWEST.transformers, 10) + 1}\n`,
      {},
    ],
    ["comments", "# transformers==4.30\ntorch  # torch==1.0\n", {}],
    ["other packages", "torchvision==0.20\ntransformers-stream-generator==0.0.5\nmy-torch==1.0\n", {}],
    [
      "lock files",
      '[[package]]\nname = "torch"\nversion = "2.7.1"\nsource = {}\n\n[[package]]\nname = "torchvision"\nversion = "0.22"\n',
      { torch: "2.7.1" },
    ],
    [
      "conda",
      "dependencies:\n  - pytorch=2.5.1=py3.11_cuda\n  - conda-forge::transformers=4.44\n  - pip:\n    - trl==0.9.6\n",
      { torch: "2.5.1", transformers: "4.44", trl: "0.9.6" },
    ],
    [
      "poetry",
      '[tool.poetry.dependencies]\ntransformers = "^4.44"\npeft = { version = "0.12.0", extras = ["x"] }\ntorch = "^2.4"\n',
      { transformers: "4.57.6", peft: "0.12.0" },
    ],
  ];
  for (const [name, text, expected] of cases) {
    it(name, () => {
      const found = pinnedVersions(text);
      assert.deepEqual(Object.fromEntries(found.map(({ library, version }) => [library, version])), expected);
      for (const { library, start } of found) {
        assert.ok(text.startsWith(library, start) || text.startsWith("pytorch", start));
      }
    });
  }

  it("come from the nearest folder, a lock file before what it locks", async () => {
    const files = {
      "run/train.yaml": "output_dir: out\nper_device_train_batch_size: 4\nbf16: true\n",
      "run/pyproject.toml": '[project]\ndependencies = ["transformers<5"]\n',
      "run/uv.lock": '[[package]]\nname = "transformers"\nversion = "4.51.3"\n',
      "requirements.txt": "transformers==4.30.0\ntorch==2.6.0\n",
    };
    const analysis = await createAnalyzer(memoryRuntime(files)).analyse(uri("run/train.yaml"), {});
    assert.ok(analysis.dependencies.includes(uri("run/uv.lock")));
    const markdown = analysis.hover(2, 1)?.markdown ?? "";
    assert.match(markdown, /transformers 4\.51\.3/);
  });
});
