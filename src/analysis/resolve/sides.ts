/** What models of several parts read and write beside the words of a text: facts of their processors. */
import type { ModelConfig, Task } from "../../core/training/run";
import { familyOf } from "../models/families";

type Part = Readonly<Record<string, unknown>>;

export function partOf(config: ModelConfig, key: string): Part {
  const part = config[key];
  return typeof part === "object" && part !== null ? (part as Part) : {};
}

/** Thirty seconds in frames of the encoder, where a config leaves them out. */
const FRAMES = 1500;

const SAMPLES_PER_FRAME = 160;

/** Tokens of a recording among those of the text that answers it. */
export function recordingTokens(config: ModelConfig, samples: number): number {
  const { tokensOfFrames, framesPerToken: each } = familyOf(config);
  if (tokensOfFrames !== undefined) return tokensOfFrames(Math.floor(samples / SAMPLES_PER_FRAME));
  const audio = partOf(config, "audio_config");
  const frames = audio["max_source_positions"] ?? audio["max_position_embeddings"];
  return each === undefined ? 0 : Math.floor((typeof frames === "number" ? frames : FRAMES) / each);
}

const of = (config: ModelConfig, task: Task) => (task === "image-text-to-text" ? familyOf(config).writes : undefined);

/** Whether a model that reads pictures writes targets of its own (`decoder_input_ids`). */
export function writesTargets(config: ModelConfig, task: Task): boolean {
  return of(config, task) !== undefined;
}

/** Whether the model is given a text to read. */
export function readsPrompt(config: ModelConfig, task: Task): boolean {
  return of(config, task)?.prompt !== false;
}
