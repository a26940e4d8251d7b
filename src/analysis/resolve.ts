/**
 * From settings to a `TrainingRun`: what the libraries would make of them, with the origin of every value and the
 * assumptions behind what nothing states.
 */
import { deviceSpec, findDevice } from "../core/hardware/devices";
import type {
  AdapterSpec,
  Attention,
  DeviceSpec,
  DType,
  LibraryVersions,
  ModelConfig,
  QuantizationSpec,
  Task,
  TrainingRun,
} from "../core/training/run";
import type { Message } from "../formats/types";
import { defaultOf, keyFor } from "./defaults";
import { librariesOf, type RunInputs } from "./inputs";
import { obstaclesOf, TRAINER_FORMATS, trainerOf } from "./not-modelled";
import { resolveParallel } from "./parallel";
import { say } from "./problems";
import { type From, type Place, type Setting, Settings, type SettingValue } from "./settings";
import { holds } from "./versions";

/** A canonical value of the run with its origin. */
export interface Resolved {
  readonly name: string;
  readonly value: SettingValue;
  readonly from: From;
  /** Key as written, or the key that would set it. */
  readonly key: string;
  readonly place: Place | null;
}

/** Something the estimate had to suppose. */
export interface Supposition {
  readonly message: Message;
  readonly settleWith: string;
  /** Another plausible value, as an override, to measure how much it matters. */
  readonly alternative?: Readonly<Record<string, string>>;
}

/** Why there is no run to estimate. */
export interface Obstacle {
  readonly code: string;
  readonly message: Message;
}

export interface Resolution {
  readonly run: TrainingRun | null;
  readonly settings: Settings;
  readonly resolved: ReadonlyMap<string, Resolved>;
  readonly suppositions: readonly Supposition[];
  readonly obstacles: readonly Obstacle[];
  readonly libraries: LibraryVersions;
  readonly device: {
    readonly spec: DeviceSpec | null;
    readonly source: "pin" | "setting" | "none";
    readonly asked: Setting | undefined;
  };
  readonly trainer: string;
}

/** What the person chose outside the documents. */
export interface Choice {
  readonly device?: string | undefined;
  /** For runs whose documents name no device. */
  readonly defaultDevice?: string | undefined;
  readonly deviceCount?: number | undefined;
  /** By canonical name or format key. */
  readonly set?: Readonly<Record<string, string>> | undefined;
}

const TASKS: readonly (readonly [RegExp, Task])[] = [
  [/ForCausalLM$|LMHeadModel$/, "causal-lm"],
  [/ForMaskedLM$|ForPreTraining$/, "masked-lm"],
  [/ForSequenceClassification$/, "seq-cls"],
  [/ForTokenClassification$/, "token-cls"],
  [/ForImageClassification$/, "image-cls"],
  [/ForConditionalGeneration$/, "seq2seq-lm"],
];
const TASK_OF_TYPE: Readonly<Record<string, Task>> = {
  bert: "masked-lm",
  roberta: "masked-lm",
  distilbert: "masked-lm",
  albert: "masked-lm",
  electra: "masked-lm",
  deberta: "masked-lm",
  "deberta-v2": "masked-lm",
  modernbert: "masked-lm",
  "xlm-roberta": "masked-lm",
  t5: "seq2seq-lm",
  mt5: "seq2seq-lm",
  bart: "seq2seq-lm",
  vit: "image-cls",
  swin: "image-cls",
  convnext: "image-cls",
};
const DTYPES: Readonly<Record<string, DType>> = {
  float32: "float32",
  fp32: "float32",
  float: "float32",
  float16: "float16",
  fp16: "float16",
  half: "float16",
  bfloat16: "bfloat16",
  bf16: "bfloat16",
  float64: "float64",
};

/** Adapters the engine follows. */
const ADAPTERS = new Set(["lora", "qlora", "dora", "none", "true"]);

/** Tokens per sequence when nothing says it. */
const ASSUMED_SEQUENCE = 2048;
const ASSUMED_TARGET = 128;

/** Resolves a run; pure, so that what-ifs and curves are the same function with other overrides. */
export function resolveRun(inputs: RunInputs, choice: Choice): Resolution {
  return new Resolver(inputs, choice).resolve();
}

/** Overrides as a layer: names may be canonical, or a key of the document's format. */
function overrideSettings(inputs: RunInputs, set: Readonly<Record<string, string>>): Setting[] {
  return Object.entries(set).flatMap(([key, text]) => {
    const spec = inputs.format.keys.find((s) => s.key === key || s.aliases?.includes(key));
    const name = spec?.name ?? key;
    const value = overrideValue(text);
    const base = { from: "pin" as const, key, place: null };
    if (name === "compute_dtype") {
      return [
        { ...base, name: "bf16", value: value === "bf16" || value === "bfloat16" },
        { ...base, name: "fp16", value: value === "fp16" || value === "float16" },
      ];
    }
    return [{ ...base, name, value }];
  });
}

function overrideValue(text: string): string | number | boolean {
  const plain = text.trim();
  if (/^(?:true|false)$/i.test(plain)) return plain.toLowerCase() === "true";
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : plain;
}

class Resolver {
  /** Whether the Hugging Face Trainer carries the run out. */
  private readonly trains: boolean;
  private readonly settings: Settings;
  private readonly libraries: LibraryVersions;
  private readonly resolved = new Map<string, Resolved>();
  private readonly suppositions: Supposition[] = [];
  private readonly obstacles: Obstacle[] = [];

  constructor(
    private readonly inputs: RunInputs,
    private readonly choice: Choice,
  ) {
    const overrides = choice.set === undefined ? [] : overrideSettings(inputs, choice.set);
    this.settings = new Settings([{ id: "override", settings: overrides }, ...inputs.layers]);
    this.libraries = librariesOf(this.settings);
    this.trains = TRAINER_FORMATS.has(inputs.format.id);
  }

  resolve(): Resolution {
    const trainer = trainerOf(this.inputs, this.settings);
    const model = this.model();
    const config = model?.config ?? {};
    const device = this.device();
    const precision = this.precision();
    const loadDtype = this.loadDtype(config);
    const task = this.task(config);
    const images = task === "image-cls";
    const microBatchSize = this.batch();
    const sequenceLength = images ? 0 : this.sequenceLength(config);
    const attention = this.attention(config);
    const checkpointing = this.checkpointing();
    const optimizer = this.optimizer();
    const quantization = this.quantization(config, trainer, loadDtype);
    const adapter = this.adapter(quantization?.type === "nf4" || quantization?.type === "fp4");
    const maxGradNorm = this.value("max_grad_norm", 1) as number;
    const labelSmoothing = Number(this.settings.number("label_smoothing") ?? 0);
    const fusedLoss = this.fusedLoss(trainer);
    if (fusedLoss && this.settings.boolean("fused_loss") !== true) this.suppose(say("assume.fused-loss"), "loss_type");
    const gradientAccumulationSteps = Number(this.value("gradient_accumulation_steps", 1));
    const parallel = resolveParallel(
      {
        trains: this.trains,
        settings: this.settings,
        inputs: this.inputs,
        libraries: this.libraries,
        config,
        compute: precision,
      },
      this.worldSize(device.spec),
      (name, value, from, key, place) => this.put(name, value, from, key, place),
      this.suppositions,
    );
    this.packing();
    this.globalBatch(microBatchSize, gradientAccumulationSteps, parallel.worldSize);
    this.obstacles.push(...obstaclesOf(this.inputs, this.settings, trainer));
    const run: TrainingRun | null =
      model === null || this.obstacles.length > 0 || microBatchSize === null
        ? null
        : {
            model,
            task,
            microBatchSize,
            sequenceLength,
            targetLength: task === "seq2seq-lm" ? this.targetLength() : 0,
            imageSize: images ? this.imageSize(config) : 0,
            gradientAccumulationSteps,
            loadDtype,
            autocast: parallel.deepspeed === null ? precision : null,
            attention,
            // TRL forces the reentrant kind for adapters under ZeRO-3.
            checkpointing:
              checkpointing !== null &&
              this.inputs.format.id === "trl" &&
              adapter !== null &&
              parallel.deepspeed?.zeroStage === 3
                ? { useReentrant: true }
                : checkpointing,
            optimizer,
            maxGradNorm,
            adapter,
            quantization,
            fusedLoss,
            labelSmoothing,
            parallel,
            libraries: this.libraries,
            device:
              device.spec === null ? null : { ...device.spec, count: Math.max(device.spec.count, parallel.worldSize) },
          };
    return {
      run,
      settings: this.settings,
      resolved: this.resolved,
      suppositions: this.suppositions,
      obstacles: this.obstacles,
      libraries: this.libraries,
      device,
      trainer,
    };
  }

  private put(name: string, value: SettingValue, from: From, key: string, place: Place | null): void {
    this.resolved.set(name, { name, value, from, key, place });
  }

  private keep(name: string, setting: Setting, value: SettingValue = setting.value): void {
    this.put(name, value, setting.from, setting.key, setting.place);
  }

  /** A plain value: stated, else the format's default, else `fallback` (a default of the libraries). */
  private value(name: string, fallback: string | number | boolean): string | number | boolean {
    const stated = this.settings.find(name);
    if (stated !== undefined && stated.value !== null && !Array.isArray(stated.value)) {
      this.keep(name, stated);
      return stated.value as string | number | boolean;
    }
    const open = this.settings.open(name);
    const spec = keyFor(this.inputs.format, name, this.libraries);
    const known = spec === undefined ? undefined : defaultOf(spec, this.libraries);
    const standard = known ?? fallback;
    if (!this.trains && known === undefined && open === undefined) return standard;
    if (open?.auto) this.put(name, null, "auto", open.key, open.place);
    else this.put(name, standard, "default", spec?.key ?? name, null);
    return standard;
  }

  private suppose(message: Message, settleWith: string, alternative?: Supposition["alternative"]): void {
    this.suppositions.push({ message, settleWith, ...(alternative === undefined ? {} : { alternative }) });
  }

  private model(): TrainingRun["model"] | null {
    const { model } = this.inputs;
    const stated = this.settings.find("config_name") ?? this.settings.find("model");
    if (stated !== undefined) this.keep("model", stated);
    if (model === undefined) {
      const open = this.settings.open("model");
      if (open !== undefined) this.keep("model", open, null);
      this.obstacles.push({ code: "unknown-model", message: say("unknown-model.unstated") });
      this.suppose(say("assume.model"), "model");
      return null;
    }
    if (model.kind !== "found") {
      this.obstacles.push({ code: "unknown-model", message: say("unknown-model.missing", { name: model.name }) });
      this.suppose(say("assume.model"), "model");
      return null;
    }
    return { name: model.name, family: String(model.config["model_type"]), config: model.config, source: model.source };
  }

  private device(): Resolution["device"] {
    const chosen = this.choice.device;
    const override = this.settings.all("device").find((setting) => setting.place === null);
    const asked = override ?? this.settings.find("device");
    const text =
      override !== undefined
        ? String(override.value)
        : (chosen ?? (asked === undefined ? this.choice.defaultDevice : String(asked.value)));
    const match = text === undefined || text === "" ? null : findDevice(text);
    const source =
      match === null
        ? "none"
        : override !== undefined || chosen !== undefined || asked === undefined
          ? "setting"
          : "pin";
    return { spec: match === null ? null : deviceSpec(match), source, asked };
  }

  private worldSize(device: DeviceSpec | null): number {
    const stated = this.settings.find("world_size");
    if (typeof stated?.value === "number" && stated.value >= 1) {
      this.keep("world_size", stated);
      return Math.floor(stated.value);
    }
    const chosen = this.choice.deviceCount ?? (device !== null && device.count > 1 ? device.count : undefined);
    if (chosen !== undefined) {
      this.put("world_size", chosen, "pin", "device.count", null);
      return chosen;
    }
    this.put("world_size", 1, "assumed", "device.count", null);
    if (this.inputs.deepspeed !== undefined || this.settings.string("fsdp_options") !== undefined) {
      this.suppose(say("assume.world-size"), "device.count", { world_size: "8" });
    }
    return 1;
  }

  /** Formats that name the precision with one key (`mixed_precision: bf16`). */
  private namedPrecision(): "bfloat16" | "float16" | null | undefined {
    const stated = this.settings.find("compute_dtype");
    const switches = this.settings.find("bf16") ?? this.settings.find("fp16");
    if (stated === undefined) return undefined;
    // TrainingArguments' own switches win over accelerate's mixed_precision.
    if (switches !== undefined && switches.from === "document" && stated.from === "linked") return undefined;
    this.keep("compute_dtype", stated);
    if (stated.value === "fp8") this.suppose(say("assume.fp8"), stated.key);
    return stated.value === "bf16" || stated.value === "fp8" ? "bfloat16" : stated.value === "fp16" ? "float16" : null;
  }

  /** Autocast dtype of the trainer, and `compute_dtype` for the report. */
  private precision(): "bfloat16" | "float16" | null {
    const named = this.namedPrecision();
    if (named !== undefined) return named;
    const bf16 = this.settings.find("bf16");
    const fp16 = this.settings.find("fp16");
    const on = (setting: Setting | undefined): boolean => setting?.value === true;
    if (on(bf16) && bf16 !== undefined) {
      this.keep("compute_dtype", bf16, "bf16");
      return "bfloat16";
    }
    if (on(fp16) && fp16 !== undefined) {
      this.keep("compute_dtype", fp16, "fp16");
      return "float16";
    }
    // TRL switches bf16 on when the file names neither.
    if (this.inputs.format.id === "trl" && bf16 === undefined && fp16 === undefined) {
      this.put("compute_dtype", "bf16", "default", "bf16", null);
      return "bfloat16";
    }
    const open = this.settings.open("bf16") ?? this.settings.open("fp16");
    if (open !== undefined && bf16 === undefined && fp16 === undefined && open.value === null && open.auto === true) {
      this.put("compute_dtype", null, "auto", open.key, open.place);
      if (this.inputs.format.id !== "axolotl") return null;
      // Axolotl takes bfloat16 on every card that has it.
      this.suppose(say("assume.auto-precision"), open.key, { bf16: "false" });
      return "bfloat16";
    }
    const stated = bf16 ?? fp16;
    const tf32 = this.settings.find("tf32");
    if (tf32?.value === true) this.keep("compute_dtype", tf32, "tf32");
    else if (stated !== undefined) this.keep("compute_dtype", stated, "fp32");
    else if (this.trains) this.put("compute_dtype", "fp32", "default", "bf16", null);
    return null;
  }

  private loadDtype(config: ModelConfig): DType {
    const stated = this.settings.find("load_dtype");
    if (stated !== undefined) {
      const named =
        DTYPES[
          String(stated.value)
            .replace(/^torch\./, "")
            .toLowerCase()
        ];
      if (named !== undefined) {
        this.keep("load_dtype", stated, named);
        return named;
      }
      if (stated.value === "auto") return this.dtypeOfCheckpoint(config, stated);
    }
    const open = this.settings.open("load_dtype");
    if (open?.auto) return this.dtypeOfCheckpoint(config, open);
    if (this.inputs.format.id === "trl" && holds("trl>=0.27", this.libraries)) {
      this.put("load_dtype", "float32", "default", "dtype", null);
      return "float32";
    }
    if (!this.trains) return "float32";
    if (holds("transformers<5", this.libraries)) {
      this.put("load_dtype", "float32", "default", "dtype", null);
      return "float32";
    }
    return this.dtypeOfCheckpoint(config, undefined);
  }

  /** `dtype="auto"`: what the checkpoint's config says, else float32. */
  private dtypeOfCheckpoint(config: ModelConfig, setting: Setting | undefined): DType {
    const written = config["dtype"] ?? config["torch_dtype"];
    const dtype = typeof written === "string" ? DTYPES[written.replace(/^torch\./, "")] : undefined;
    const value = dtype ?? "float32";
    this.put(
      "load_dtype",
      value,
      setting === undefined ? (dtype === undefined ? "assumed" : "linked") : "linked",
      "dtype",
      null,
    );
    if (this.inputs.model?.kind === "found") {
      const other = value === "float32" ? "bfloat16" : "float32";
      const id = dtype === undefined ? "assume.load-dtype" : "assume.load-dtype-checkpoint";
      this.suppose(say(id, { dtype: value }), "dtype", { load_dtype: other });
    }
    return value;
  }

  private task(config: ModelConfig): Task {
    const stated = this.settings.string("task");
    if (stated !== undefined) return stated as Task;
    const architecture = Array.isArray(config["architectures"]) ? String(config["architectures"][0] ?? "") : "";
    const named = TASKS.find(([pattern]) => pattern.test(architecture))?.[1];
    if (named !== undefined) return named;
    const task = TASK_OF_TYPE[String(config["model_type"])] ?? "causal-lm";
    if (this.inputs.format.id !== "trl" && this.inputs.model?.kind === "found") {
      this.suppose(say("assume.task", { task }), "task");
    }
    return task;
  }

  private batch(): number | null {
    const stated = this.settings.find("micro_batch_size");
    if (typeof stated?.value === "number") {
      this.keep("micro_batch_size", stated);
      return stated.value;
    }
    if (!this.trains) return this.derivedBatch();
    const invalid = this.inputs.main.read.problems.some(
      (found) => found.code === "invalid-value" && found.message.args["key"] === "per_device_train_batch_size",
    );
    const open = this.settings.open("micro_batch_size");
    if (invalid || open?.unknown !== undefined) {
      this.put(
        "micro_batch_size",
        null,
        open?.from ?? "document",
        open?.key ?? "per_device_train_batch_size",
        open?.place ?? null,
      );
      this.obstacles.push({ code: "invalid-value", message: say("obstacle.batch") });
      return null;
    }
    return Number(this.value("micro_batch_size", 8));
  }

  /** DeepSpeed's batch triple: micro = global / (accumulation × world). */
  private derivedBatch(): number | null {
    const open = this.settings.open("micro_batch_size");
    const total = this.settings.find("global_batch_size");
    if (typeof total?.value === "number") {
      const steps = this.settings.number("gradient_accumulation_steps") ?? 1;
      const world = this.settings.number("world_size") ?? this.choice.deviceCount ?? 1;
      const micro = Math.floor(total.value / (steps * world));
      if (micro >= 1) {
        this.put("micro_batch_size", micro, "auto", total.key, total.place);
        return micro;
      }
    }
    if (open?.auto) this.put("micro_batch_size", null, "auto", open.key, open.place);
    this.obstacles.push({ code: "unresolved-auto", message: say("obstacle.auto-batch") });
    return null;
  }

  private globalBatch(micro: number | null, steps: number, world: number): void {
    const stated = this.settings.find("global_batch_size");
    const open = this.settings.open("global_batch_size");
    if (open?.auto && !this.trains) this.put("global_batch_size", null, "auto", open.key, open.place);
    if (stated !== undefined) this.keep("global_batch_size", stated);
    if (micro === null) return;
    if (typeof stated?.value === "number") this.keep("global_batch_size", stated);
    else if (this.trains) this.put("global_batch_size", micro * steps * world, "auto", "global_batch_size", null);
  }

  private sequenceLength(config: ModelConfig): number {
    const limit = Number(config["max_position_embeddings"] ?? config["n_positions"] ?? Number.POSITIVE_INFINITY);
    const pinned = this.settings
      .all("sequence_length")
      .find((setting) => setting.from === "pin" && typeof setting.value === "number");
    const stated = this.settings.find("sequence_length");
    const strongest = pinned ?? stated;
    if (typeof strongest?.value === "number") {
      this.keep("sequence_length", strongest);
      if (strongest === stated && stated.from === "document" && this.settings.boolean("packing") !== true) {
        this.suppose(say("assume.full-length", { length: strongest.value, key: strongest.key }), "sequence_length");
      }
      return strongest.value;
    }
    const unlimited = this.settings.open("sequence_length");
    if (this.inputs.format.id === "trl" && unlimited === undefined) {
      this.put("sequence_length", Math.min(1024, limit), "default", "max_length", null);
      this.suppose(say("assume.full-length", { length: 1024, key: "max_length" }), "sequence_length", {
        sequence_length: "2048",
      });
      return Math.min(1024, limit);
    }
    const length = Math.min(ASSUMED_SEQUENCE, limit);
    this.put("sequence_length", length, "assumed", unlimited?.key ?? "sequence_length", unlimited?.place ?? null);
    this.suppose(say("assume.sequence-length", { length }), "sequence_length", {
      sequence_length: String(Math.max(1, Math.floor(length / 2))),
    });
    return length;
  }

  private targetLength(): number {
    const stated = this.settings.find("target_length");
    if (typeof stated?.value === "number") {
      this.keep("target_length", stated);
      return stated.value;
    }
    this.suppose(say("assume.target-length", { length: ASSUMED_TARGET }), "target_length", {
      target_length: String(2 * ASSUMED_TARGET),
    });
    return ASSUMED_TARGET;
  }

  private imageSize(config: ModelConfig): number {
    const stated = this.settings.number("image_size");
    if (stated !== undefined) return stated;
    const own = config["image_size"];
    const size = typeof own === "number" ? own : 224;
    if (typeof own !== "number") this.suppose(say("assume.image-size", { size }), "image_size");
    return size;
  }

  private attention(config: ModelConfig): Attention {
    const stated = this.settings.find("attention");
    if (stated !== undefined) {
      const value = String(stated.value) as Attention;
      this.keep("attention", stated, value);
      return value;
    }
    const own = config["_attn_implementation"] ?? config["attn_implementation"];
    if (typeof own === "string") {
      this.put("attention", own, "linked", "attn_implementation", null);
      return own as Attention;
    }
    if (this.trains) this.put("attention", "sdpa", "default", "attn_implementation", null);
    return "sdpa";
  }

  private checkpointing(): TrainingRun["checkpointing"] {
    const stated = this.value("gradient_checkpointing", false);
    if (stated === false || stated === "none" || stated === "no") return null;
    return { useReentrant: this.settings.boolean("use_reentrant") ?? holds("transformers<5", this.libraries) };
  }

  private optimizer(): TrainingRun["optimizer"] {
    const block = this.settings.find("deepspeed_optimizer");
    if (block !== undefined) {
      const type = String(block.value).toLowerCase();
      this.keep("optimizer", block);
      return { name: DEEPSPEED_OPTIMIZERS[type] ?? String(block.value), args: {} };
    }
    if (this.settings.boolean("adafactor") === true && holds("transformers<5", this.libraries)) {
      const setting = this.settings.find("adafactor");
      if (setting !== undefined) this.keep("optimizer", setting, "adafactor");
      return { name: "adafactor", args: {} };
    }
    if (!this.trains && this.settings.find("optimizer") === undefined) {
      return { name: "adamw_torch_fused", args: {} };
    }
    const name = String(this.value("optimizer", "adamw_torch_fused"));
    return { name, args: optimizerArguments(this.settings.find("optim_args")?.value) };
  }

  private quantization(config: ModelConfig, trainer: string, loadDtype: DType): QuantizationSpec | null {
    const stated = this.settings.find("quantization");
    // TRL computes in the dtype the model is loaded in.
    const standard = this.inputs.format.id === "trl" ? loadDtype : "bfloat16";
    const compute = DTYPES[this.settings.string("quantization_compute_dtype") ?? ""] ?? standard;
    if (stated !== undefined) {
      this.keep("quantization", stated);
      if (stated.value === "none") return null;
      return {
        type: String(stated.value) as QuantizationSpec["type"],
        double: this.settings.boolean("double_quantization") ?? false,
        prepareForKbit: this.settings.boolean("prepare_for_kbit") ?? (stated.place === null && trainer === "sft"),
        computeDtype: compute,
      };
    }
    const four = this.settings.find("load_in_4bit");
    const eight = this.settings.find("load_in_8bit");
    const on = four?.value === true ? four : eight?.value === true ? eight : undefined;
    if (on !== undefined) {
      const type = on === four ? (this.settings.string("bnb_4bit_quant_type") ?? "nf4") : "int8";
      this.keep("quantization", on, type);
      return {
        type: type as QuantizationSpec["type"],
        double: this.settings.boolean("double_quantization") ?? false,
        prepareForKbit: trainer === "sft",
        computeDtype: compute,
      };
    }
    const own = config["quantization_config"];
    const method =
      typeof own === "object" && own !== null ? String((own as Record<string, unknown>)["quant_method"] ?? "") : "";
    if (method === "gptq" || method === "awq" || method === "hqq") {
      this.put("quantization", method, "linked", "quantization_config", null);
      return { type: method, double: false, prepareForKbit: false, computeDtype: compute };
    }
    if (this.trains) this.put("quantization", "none", "default", "quantization", null);
    return null;
  }

  private adapter(quantized: boolean): AdapterSpec | null {
    const stated = this.settings.find("adapter");
    const peft = this.settings.find("use_peft");
    const rank = this.settings.find("lora_rank");
    const standard = stated === undefined && this.trains ? this.formatDefault("adapter") : undefined;
    if (standard !== undefined && standard !== "none") {
      return this.adapterFrom(
        {
          name: "adapter",
          value: standard,
          from: "default",
          key: keyFor(this.inputs.format, "adapter", this.libraries)?.key ?? "adapter",
          place: null,
        },
        quantized,
      );
    }
    const off = stated?.value === "none" || (stated === undefined && peft?.value === false);
    // A pinned adapter block without `type` still is an adapter; TRL's lora_* keys need use_peft.
    const pinnedRank = rank !== undefined && rank.from === "pin";
    const origin = stated ?? (peft?.value === true ? peft : pinnedRank ? rank : undefined);
    if (off || origin === undefined) {
      if (origin !== undefined || stated !== undefined || peft !== undefined) {
        const setting = stated ?? peft;
        if (setting !== undefined) this.keep("adapter", setting, "none");
      } else if (this.trains) this.put("adapter", "none", "default", "adapter", null);
      return null;
    }
    return this.adapterFrom(origin, quantized);
  }

  /** A default the format's own table states. */
  private formatDefault(name: string): SettingValue | undefined {
    const spec = keyFor(this.inputs.format, name, this.libraries);
    return spec === undefined ? undefined : defaultOf(spec, this.libraries);
  }

  /** A default of the format as a number. */
  private defaultNumber(name: string, fallback: number): number {
    const value = this.formatDefault(name);
    return typeof value === "number" ? value : fallback;
  }

  private adapterFrom(origin: Setting, quantized: boolean): AdapterSpec | null {
    const stated = this.settings.find("adapter");
    const rank = this.settings.find("lora_rank");
    const kind = String(origin.value);
    if (origin.name === "adapter" && !ADAPTERS.has(kind)) {
      this.keep("adapter", origin);
      this.obstacles.push({ code: "not-modelled", message: say("not-modelled.adapter", { adapter: kind }) });
      return null;
    }
    // Axolotl tells `lora` and `qlora` apart by name.
    const named = this.inputs.format.id === "axolotl" && typeof stated?.value === "string";
    const dora = this.settings.boolean("use_dora") === true || stated?.value === "dora";
    this.keep("adapter", origin, dora ? "dora" : named ? String(stated?.value) : quantized ? "qlora" : "lora");
    const rankValue = this.settings.number("lora_rank") ?? this.defaultNumber("lora_rank", 8);
    if (rank !== undefined) this.keep("lora_rank", rank);
    else this.put("lora_rank", rankValue, "default", "lora_r", null);
    const target =
      this.settings.find("lora_target_modules")?.value ?? this.formatDefault("lora_target_modules") ?? null;
    const modules: readonly string[] | string =
      typeof target === "string"
        ? target
        : Array.isArray(target)
          ? target.length === 1 && target[0] === "all-linear"
            ? "all-linear"
            : target
          : [];
    if (target === null) {
      this.suppose(say("assume.target-modules"), "adapter.target_modules", { lora_target_modules: "all-linear" });
    }
    return {
      type: dora ? "dora" : "lora",
      rank: rankValue,
      alpha: this.settings.number("lora_alpha") ?? this.defaultNumber("lora_alpha", rankValue),
      dropout: this.settings.number("lora_dropout") ?? this.defaultNumber("lora_dropout", 0),
      targetModules: modules,
      modulesToSave: this.settings.list("lora_modules_to_save") ?? [],
      bias: (this.settings.string("lora_bias") ?? "none") as AdapterSpec["bias"],
      useRslora: this.settings.boolean("use_rslora") ?? false,
      // TRL casts the adapters of a quantized base to bfloat16; peft raises half-precision adapters to float32.
      autocastAdapterDtype:
        this.settings.boolean("autocast_adapter_dtype") ?? !(this.inputs.format.id === "trl" && quantized),
    };
  }

  /** Liger, or TRL's own chunked loss (the default of SFT since 1.7). */
  private fusedLoss(trainer: string): boolean {
    if (this.settings.boolean("fused_loss") === true) return true;
    if (trainer !== "sft") return false;
    const loss = this.settings.string("loss_type");
    if (loss === "chunked_nll") return true;
    return loss === "nll" ? holds("trl>=1.15", this.libraries) : holds("trl>=1.7", this.libraries);
  }

  private packing(): void {
    const stated = this.settings.find("packing");
    if (stated !== undefined) this.keep("packing", stated);
  }
}

/** DeepSpeed's optimizers by the HF name with the same memory. */
const DEEPSPEED_OPTIMIZERS: Readonly<Record<string, string>> = {
  adam: "adamw_torch_fused",
  adamw: "adamw_torch_fused",
  fusedadam: "adamw_torch_fused",
  deepspeedcpuadam: "adamw_torch_fused",
  lion: "lion_32bit",
  adagrad: "adagrad",
  sgd: "sgd",
};

/** `momentum=0.9, rank=64` as HF's `optim_args` reads it. */
function optimizerArguments(value: SettingValue | undefined): Record<string, string> {
  if (typeof value !== "string") return {};
  const pairs = value
    .replaceAll(" ", "")
    .split(",")
    .map((part) => part.split("="));
  return Object.fromEntries(pairs.flatMap(([key, text]) => (key && text !== undefined ? [[key, text]] : [])));
}
