/**
 * Releases of the frameworks whose configs are read by version, and of the libraries that each of them requires: what a
 * pinned framework leaves to be installed beside it. Read from the releases' own requirements (`requirements.txt` and
 * `pyproject.toml` of axolotl's tags, the metadata of llamafactory's and ms-swift's wheels).
 */

import type { LibraryVersions } from "../../core/training/run";

/** The newest releases this version of VRAM Lens describes. */
export const FRAMEWORKS = {
  axolotl: "0.19",
  llamafactory: "0.9.5",
  "ms-swift": "4.6",
  lightning: "2.5",
  litgpt: "0.5.13",
  mmengine: "0.10",
  unsloth: "2026.10.9",
} as const;

export type FrameworkLibrary = keyof typeof FRAMEWORKS;

type Required = Partial<Pick<LibraryVersions, "transformers" | "trl" | "peft" | "accelerate" | "deepspeed">>;

/** From a release on, the versions it pins, or the newest it allows. Oldest first. */
export const REQUIRED: Readonly<Partial<Record<FrameworkLibrary, readonly (readonly [string, Required])[]>>> = {
  axolotl: [
    ["0.5", { transformers: "4.46.3", trl: "0.12.0", peft: "0.13.2", accelerate: "1.1.0", deepspeed: "0.14.4" }],
    ["0.7", { transformers: "4.48.3", trl: "0.15.0", peft: "0.14.0", accelerate: "1.3.0", deepspeed: "0.16.1" }],
    ["0.8", { transformers: "4.51.0", trl: "0.16.1", peft: "0.15.1", accelerate: "1.6.0", deepspeed: "0.15.4" }],
    ["0.9", { transformers: "4.51.3", trl: "0.17.0", peft: "0.15.2", accelerate: "1.6.0", deepspeed: "0.15.4" }],
    ["0.10", { transformers: "4.52.4", trl: "0.18.2", peft: "0.15.2", accelerate: "1.7.0", deepspeed: "0.17.0" }],
    ["0.11", { transformers: "4.53.1", trl: "0.18.2", peft: "0.15.2", accelerate: "1.8.1", deepspeed: "0.17.1" }],
    ["0.12", { transformers: "4.55.2", trl: "0.21.0", peft: "0.17.0", accelerate: "1.10.0", deepspeed: "0.17.2" }],
    ["0.13", { transformers: "4.57.6", trl: "0.27.0", peft: "0.18.1", accelerate: "1.12.0", deepspeed: "0.18.2" }],
    ["0.14", { transformers: "5.0.0", trl: "0.27.1", peft: "0.18.1", accelerate: "1.12.0", deepspeed: "0.18.2" }],
    ["0.15", { transformers: "5.3.0", trl: "0.29.0", peft: "0.18.1", accelerate: "1.13.0", deepspeed: "0.18.2" }],
    ["0.16", { transformers: "5.5.0", trl: "0.29.0", peft: "0.18.1", accelerate: "1.13.0", deepspeed: "0.18.2" }],
    ["0.17", { transformers: "5.9.0", trl: "1.5.1", peft: "0.19.1", accelerate: "1.13.0", deepspeed: "0.18.9" }],
    ["0.18", { transformers: "5.14.1", trl: "1.8.0", peft: "0.19.1", accelerate: "1.13.0", deepspeed: "0.18.9" }],
    ["0.19", { transformers: "5.16.1", trl: "1.9.0", peft: "0.20.0", accelerate: "1.13.0", deepspeed: "0.18.9" }],
  ],
  llamafactory: [
    ["0.9", { transformers: "4.45.0", trl: "0.9.6", peft: "0.12.0", accelerate: "0.33.0", deepspeed: "0.14.4" }],
    ["0.9.1", { transformers: "4.46.1", trl: "0.9.6", peft: "0.12.0", accelerate: "1.0.1", deepspeed: "0.14.4" }],
    ["0.9.2", { transformers: "4.49.0", trl: "0.9.6", peft: "0.12.0", accelerate: "1.2.1", deepspeed: "0.16.4" }],
    ["0.9.3", { transformers: "4.52.4", trl: "0.9.6", peft: "0.15.2", accelerate: "1.7.0", deepspeed: "0.16.9" }],
    ["0.9.4", { transformers: "4.57.1", trl: "0.24.0", peft: "0.17.1", accelerate: "1.11.0", deepspeed: "0.16.9" }],
    ["0.9.5", { transformers: "5.6.0", trl: "0.24.0", peft: "0.18.1", accelerate: "1.11.0", deepspeed: "0.18.4" }],
  ],
  "ms-swift": [
    ["2.6", { transformers: "4.47", trl: "0.11", peft: "0.12" }],
    ["3.0", { transformers: "4.48", trl: "0.11", peft: "0.14" }],
    ["3.4", { transformers: "4.52", trl: "0.17", peft: "0.15" }],
    ["3.8", { transformers: "4.56", trl: "0.20", peft: "0.17" }],
    ["3.12", { transformers: "4.57.6", trl: "0.24", peft: "0.18" }],
    ["4.0", { transformers: "5.3", trl: "0.29", peft: "0.18" }],
    ["4.3", { transformers: "5.12", trl: "0.29", peft: "0.19" }],
    ["4.6", { transformers: "5.17", trl: "0.29", peft: "0.20" }],
  ],
};
