/**
 * The network that nnU-Net's plans describe. Sources: nnunetv2/utilities/plans_handling/plans_handler.py (inheritance,
 * plans before `architecture`), nnunetv2/utilities/label_handling/label_handling.py (heads and input channels).
 */
import { NNUNET } from "../../core/networks/nnunet";
import type { ModelConfig } from "../../core/training/run";
import { CONFIGURATIONS } from "../../formats/nnunet/keys";
import { plainValue } from "../../formats/table";
import type { DocumentStore, LoadedDocument } from "../documents/store";
import { joinUri, parentOf } from "../documents/uris";
import type { Setting } from "../frameworks/settings";
import type { ModelFound } from "./model-found";

type Plain = Readonly<Record<string, unknown>>;

/** Heads where no `dataset.json` is found: background and one structure. */
const ASSUMED_HEADS = 2;

/** What `nnUNetv2_train DATASET CONFIGURATION FOLD [-p PLANS]` trains (nnunetv2/run/run_training.py, run_training_entry). */
interface Command {
  /** `DatasetXXX_Name`, or its number. */
  readonly dataset: string;
  readonly configuration: string;
  readonly plans: string;
}

/** Plans that a script's command trains by, with the batch that they state for its configuration. */
export interface StartedPlans {
  readonly document: LoadedDocument;
  readonly configuration: string;
  readonly batch: Setting | undefined;
}

const COMMAND = /nnUNetv2_train\s+(?!-)(\S+)\s+(?!-)(\S+)([^\n]*)/g;
const PLANS_NAME = /\s-p\s+(\S+)/;

/** @param index which of the script's commands, from 0 */
function commandOf(text: string, index: number): Command | undefined {
  const found = [...text.replace(/\\\n/g, " ").matchAll(COMMAND)][index];
  if (found === undefined) return undefined;
  const [, dataset = "", configuration = "", rest = ""] = found;
  return { dataset, configuration, plans: PLANS_NAME.exec(rest)?.[1] ?? "nnUNetPlans" };
}

/** Folder of preprocessed data sets, by the name of the variable that says where it is (nnunetv2/paths.py). */
const PREPROCESSED = "nnUNet_preprocessed";

/** The plans of a script's command, in a folder named after nnU-Net's own variable below one of `folders`. */
export async function startedPlans(
  script: LoadedDocument,
  folders: readonly string[],
  store: DocumentStore,
  dependencies: Set<string>,
): Promise<StartedPlans | undefined> {
  const command = commandOf(script.text, script.part?.index ?? 0);
  if (command === undefined) return undefined;
  const number = /^\d+$/.test(command.dataset) ? `Dataset${command.dataset.padStart(3, "0")}_` : undefined;
  for (const folder of folders.map((one) => joinUri(one, PREPROCESSED)))
    for (const { name, type } of await store.list(folder)) {
      if (type !== "directory" || !(number === undefined ? name === command.dataset : name.startsWith(number)))
        continue;
      const uri = joinUri(folder, `${name}/${command.plans}.json`);
      dependencies.add(uri);
      const document = await store.load(uri);
      if (document !== undefined)
        return { document, configuration: command.configuration, batch: batchOf(document, command.configuration) };
    }
  return undefined;
}

function batchOf(document: LoadedDocument, configuration: string): Setting | undefined {
  const configurations = mapOf(plainOf(document)?.["configurations"]) ?? {};
  const value = inherited(configurations, configuration)["batch_size"];
  if (typeof value !== "number") return undefined;
  const key = `configurations.${configuration}.batch_size`;
  const nowhere = { start: 0, end: 0 };
  const place = { uri: document.uri, keySpan: nowhere, valueSpan: nowhere };
  return { name: "global_batch_size", value, from: "linked", key, place };
}

/**
 * The model of a plans document; undefined where it names no configuration.
 *
 * @param asked the configuration that is trained; absent: the first that there is
 */
export async function plannedModel(
  document: LoadedDocument,
  store: DocumentStore,
  dependencies: Set<string>,
  asked?: string,
): Promise<ModelFound | undefined> {
  const plans = plainOf(document);
  const configurations = mapOf(plans?.["configurations"]);
  const known = asked === undefined ? CONFIGURATIONS : [asked];
  const name = known.find((one) => mapOf(configurations?.[one]) !== undefined);
  if (plans === undefined || configurations === undefined || name === undefined) return undefined;
  const datasetUri = joinUri(parentOf(document.uri), "dataset.json");
  dependencies.add(datasetUri);
  const dataset = await store.load(datasetUri);
  const config = networkConfig(inherited(configurations, name), plainOf(dataset), plans);
  return {
    kind: "found",
    name: `${name} ${String(plans["plans_name"] ?? "nnUNetPlans")}`,
    config: { model_type: NNUNET, configuration: name, ...config },
    source: dataset === undefined ? "assumed" : "config.json",
    parameters: undefined,
    task: "image-segmentation",
    document: dataset,
    adapter: undefined,
    adapterUri: undefined,
  };
}

function plainOf(document: LoadedDocument | undefined): Plain | undefined {
  const root = document?.config?.parsed.root;
  return root?.kind === "map" ? (plainValue(root) as Plain) : undefined;
}

function mapOf(value: unknown): Plain | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Plain) : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A configuration with what it inherits; a chain that closes on itself ends there. */
function inherited(configurations: Plain, name: string, seen: readonly string[] = []): Plain {
  const own = mapOf(configurations[name]) ?? {};
  const parent = own["inherits_from"];
  if (typeof parent !== "string" || seen.includes(parent)) return own;
  return { ...inherited(configurations, parent, [...seen, name]), ...own };
}

function networkConfig(configuration: Plain, dataset: Plain | undefined, plans: Plain): ModelConfig {
  const labels = labelsOf(dataset);
  const channels =
    Object.keys(mapOf(dataset?.["channel_names"]) ?? mapOf(dataset?.["modality"]) ?? {}).length ||
    listOf(configuration["normalization_schemes"]).length ||
    Object.keys(mapOf(plans["foreground_intensity_properties_per_channel"]) ?? {}).length ||
    1;
  // The cascade's second network sees the first one's segmentation, a channel for every structure.
  const cascaded = configuration["previous_stage"] !== undefined && configuration["previous_stage"] !== null;
  return {
    ...(mapOf(configuration["architecture"]) ?? olderArchitecture(configuration)),
    patch_size: configuration["patch_size"],
    num_input_channels: channels + (cascaded ? labels.structures : 0),
    num_output_channels: labels.heads,
    batch_dice: configuration["batch_dice"] === true,
    has_regions: labels.regions,
    has_ignore_label: labels.ignores,
  };
}

/** Keys of plans made before `architecture` was among them. */
function olderArchitecture(configuration: Plain): Plain {
  const blocks = listOf(configuration["n_conv_per_stage_encoder"]);
  const [base, most] = ["UNet_base_num_features", "unet_max_num_features"].map((key) => Number(configuration[key]));
  const residual = configuration["UNet_class_name"] === "ResidualEncoderUNet";
  return {
    network_class_name: configuration["UNet_class_name"],
    arch_kwargs: {
      features_per_stage: blocks.map((_, stage) => Math.min((base ?? 0) * 2 ** stage, most ?? 0)),
      kernel_sizes: configuration["conv_kernel_sizes"],
      strides: configuration["pool_op_kernel_sizes"],
      [residual ? "n_blocks_per_stage" : "n_conv_per_stage"]: blocks,
      n_conv_per_stage_decoder: configuration["n_conv_per_stage_decoder"],
      conv_bias: true,
    },
  };
}

interface Labels {
  /** Channels of every head: a class each with the background, or a region each. */
  readonly heads: number;
  readonly structures: number;
  readonly regions: boolean;
  readonly ignores: boolean;
}

function labelsOf(dataset: Plain | undefined): Labels {
  const labels = mapOf(dataset?.["labels"]);
  if (labels === undefined)
    return { heads: ASSUMED_HEADS, structures: ASSUMED_HEADS - 1, regions: false, ignores: false };
  const ignores = "ignore" in labels;
  const named = Object.entries(labels).filter(([name]) => name !== "ignore");
  const regions = named.some(([, value]) => listOf(value).length > 1);
  const values = new Set(named.flatMap(([, value]) => (Array.isArray(value) ? value : [value])).map(Number));
  const structures = [...values].filter((value) => value !== 0).length;
  return {
    heads: regions ? named.filter(([name]) => name !== "background").length : values.size,
    structures,
    regions,
    ignores,
  };
}
