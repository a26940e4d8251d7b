/** The table of TRL's defaults against the config classes themselves, version by version. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { trainerDefault } from "../../src/analysis/defaults";
import { NEWEST } from "../../src/analysis/versions";
import { TRAINER_DEFAULTS } from "../../src/formats/trl/defaults";
import type { SettingName } from "../../src/terms/settings";

type Recorded = Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;

const recorded = JSON.parse(readFileSync(path.join(__dirname, "trl-defaults.json"), "utf8")) as Recorded;

/** Versions before which trainers were other classes altogether. */
const FIRST: Readonly<Record<string, string>> = { grpo: "0.18.2", rloo: "0.22.2", "online-dpo": "0.23.1" };

describe("defaults of TRL's trainers", () => {
  for (const [trainer, table] of Object.entries(TRAINER_DEFAULTS))
    it(`${trainer} as its config class has them`, () => {
      const versions = Object.keys(recorded);
      const wrong: string[] = [];
      for (const version of versions.slice(versions.indexOf(FIRST[trainer] ?? "0.17.0"))) {
        const own = recorded[version]?.[trainer.replace("-", "_")];
        if (own === undefined) continue;
        for (const name of Object.keys(table) as SettingName[]) {
          const field = name === "sequence_length" ? "max_length" : name;
          if (!(field in own)) continue;
          const [first] = [own[field]].flat();
          const ours = trainerDefault({ trlDefaults: true }, trainer, name, { ...NEWEST, trl: version });
          if (ours !== first) wrong.push(`${version} ${field}: ${String(ours)} instead of ${String(first)}`);
        }
      }
      assert.deepEqual(wrong, []);
    });
});
