/**
 * Modules that a loader of its own leaves in half precision where it packs a model in 4 or 8 bits, by the release from which it does.
 * Sources: unsloth_zoo/peft_utils.py, SKIP_QUANTIZATION_MODULES (releases of the same number go together with Unsloth's);
 * unsloth/models/vision.py, `from_pretrained`, of a type.
 */
import { table } from "../../terms/table";
import { holds, type Versions } from "../frameworks/versions";

/** A name of modules with the releases that leave them; their types, where not all. */
interface Left {
  readonly name: string;
  readonly when?: readonly string[];
  readonly type?: string;
}

const since = (release: string, ...names: readonly string[]): readonly Left[] =>
  names.map((name) => ({ name, when: [`unsloth>=${release}`] }));

const LEFT: Readonly<Record<string, readonly Left[]>> = table({
  unsloth: [
    ...["lm_head", "multi_modal_projector", "merger", "modality_projection"].map((name) => ({ name })),
    ...since("2025.5.1", "router"),
    { name: "gate", when: ["unsloth>=2025.5.1", "unsloth<2025.9.6"] },
    ...since("2025.6.5", "mamba"),
    ...since("2025.9.6", "mlp.gate", "block_sparse_moe.gate"),
    ...since("2026.2.1", "audio_tower", "vision_tower"),
    { name: "out_proj", when: ["unsloth>=2026.3.1"], type: "nemotron_h" },
    ...since("2026.4.7", "score", "classifier", "qa_outputs"),
    ...since("2026.6.1", "vision_embedder", "embed_vision", "embed_audio"),
    ...since("2026.9.8", "mm_projector", "moe.gate"),
    ...since("2026.10.4", "visual"),
  ],
});

/** Names of modules that a loader leaves whole in a model of a type; none where it is nobody's. */
export function leftByLoader(loader: string, type: string, libraries: Versions): readonly string[] {
  return (LEFT[loader] ?? []).flatMap(({ name, when = [], type: only = type }) =>
    only === type && when.every((condition) => holds(condition, libraries)) && reaches(name, libraries) ? [name] : [],
  );
}

/** Before transformers 5 a name of several parts met what stands in such a module, never a linear layer of that name itself. */
function reaches(name: string, libraries: Versions): boolean {
  return !name.includes(".") || holds("transformers>=5", libraries);
}
