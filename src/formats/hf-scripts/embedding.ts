/**
 * What trains a model of texts' embeddings (sentence-transformers): how many texts a sample has and how many samples are embedded at
 * once follow from its loss and its data. Source: sentence_transformers/sentence_transformer/losses, 6.2.
 */
import type { Entry, LocatedNode, PythonCall, PythonModule } from "../../syntax/tree";
import { table } from "../../terms/table";
import { attributesSet } from "../attributes";
import type { LocatedSetting } from "../types";
import { at, given, keyword, lastName, plain, said, uncounted } from "./called";
import { callsBehind, trainingOf } from "./training";

const EMBEDS = /(?:^|\.)(?:SentenceTransformer|SparseEncoder)Trainer$/;

interface EmbeddingLoss {
  /** Texts of a sample; left out: as many as the data has. */
  readonly texts?: number;
  /** Gradients are cached, and the batch is embedded in pieces (losses/gradcache.py: `mini_batch_size`). */
  readonly cached?: true;
  /** Another model embeds the batch beside the trained one. */
  readonly guided?: true;
}

const LOSSES: Readonly<Record<string, EmbeddingLoss>> = table({
  AnglELoss: { texts: 2 },
  BatchAllTripletLoss: { texts: 1 },
  BatchHardSoftMarginTripletLoss: { texts: 1 },
  BatchHardTripletLoss: { texts: 1 },
  BatchSemiHardTripletLoss: { texts: 1 },
  CachedGISTEmbedLoss: { cached: true, guided: true },
  CachedMultipleNegativesRankingLoss: { cached: true },
  CachedMultipleNegativesSymmetricRankingLoss: { cached: true },
  CoSENTLoss: { texts: 2 },
  ContrastiveLoss: { texts: 2 },
  CosineSimilarityLoss: { texts: 2 },
  GISTEmbedLoss: { guided: true },
  MSELoss: { texts: 1 },
  MarginMSELoss: { texts: 3 },
  MegaBatchMarginLoss: { texts: 2 },
  MultipleNegativesRankingLoss: {},
  MultipleNegativesSymmetricRankingLoss: {},
  OnlineContrastiveLoss: { texts: 2 },
  SoftmaxLoss: { texts: 2 },
  TripletLoss: { texts: 3 },
});

/** Losses of the same embeddings' first numbers, around another one (MatryoshkaLoss.py). */
const WRAPS = /(?:^|\.)(?:Matryoshka(?:2d)?|AdaptiveLayer)Loss$/;

/** `CachedMultipleNegativesRankingLoss(model, mini_batch_size=32)`: its standard, and its place behind model, scale and similarity. */
const PIECE = 32;
const PIECE_AT = 3;

/** The loss that a trainer is given, inside of what wraps it. */
function lossOf(python: PythonModule, node: LocatedNode | undefined, steps = 2): PythonCall | undefined {
  const found = callsBehind(python, node).find(
    (call) => Object.hasOwn(LOSSES, lastName(call.callee)) || WRAPS.test(call.callee),
  );
  if (found === undefined || !WRAPS.test(found.callee) || steps === 0) return found;
  return lossOf(python, given(found, "loss") ?? found.positional[1], steps - 1);
}

/** Columns that are no text. */
const NUMBERS = /^(?:label|labels|score|scores|similarity_score|idx|id)$/;

/** Texts of a sample, as the script's own data has them. */
function textsOfData({ calls }: PythonModule): { readonly call: PythonCall; readonly texts: number } | undefined {
  for (const call of calls) {
    const [first, second] = call.positional;
    if (/(?:^|\.)Dataset\.from_dict$/.test(call.callee) && first?.kind === "map") {
      const texts = first.entries.filter(({ key }) => !NUMBERS.test(key)).length;
      if (texts > 0) return { call, texts };
    }
    const given = keyword(call, "texts")?.value;
    if (/(?:^|\.)InputExample$/.test(call.callee) && given?.kind === "list") return { call, texts: given.items.length };
    const named = plain(second ?? keyword(call, "name")?.value);
    // sentence-transformers' own data sets name their columns so (`triplet`, `pair-score`, `pair`).
    const shape = /^(triplet|pair)(?:-|$)/.exec(String(named))?.[1];
    if (/(?:^|\.)load_dataset$/.test(call.callee) && shape !== undefined)
      return { call, texts: shape === "triplet" ? 3 : 2 };
  }
  return undefined;
}

/** How many samples a loss with cached gradients embeds at once: its standard, too, where what is written is not known. */
function pieceOf(call: PythonCall): readonly LocatedSetting[] {
  const named = keyword(call, "mini_batch_size");
  const entry = named ?? entryAt(call.positional[PIECE_AT]);
  if (entry === undefined) return [at("loss_mini_batch_size", call, PIECE)];
  if (typeof plain(entry.value) === "number") return [said("loss_mini_batch_size", entry)];
  return [at("loss_mini_batch_size", call, PIECE), uncounted(entry.key, entry.keySpan, entry.value)];
}

/** An argument without a name, as its name would stand. */
function entryAt(value: LocatedNode | undefined): Entry | undefined {
  return value && { key: "mini_batch_size", keySpan: { start: value.start, end: value.start }, value };
}

/** Settings of a trainer of embeddings; nothing for other scripts. */
export function embedding(python: PythonModule): readonly LocatedSetting[] {
  const { trainer, load } = trainingOf(python);
  if (trainer === undefined || !EMBEDS.test(trainer.callee)) return [];
  const result = [at("rl", trainer, "embedding")];
  const length = load && attributesSet(load, python).findLast(({ key }) => key === "max_seq_length");
  if (length !== undefined && typeof plain(length.value) === "number") result.push(said("sequence_length", length));
  const loss = keyword(trainer, "loss");
  const call = lossOf(python, loss?.value ?? trainer.positional[5]);
  const row = call && LOSSES[lastName(call.callee)];
  if (call === undefined || row === undefined) {
    if (loss !== undefined) result.push(uncounted("loss", loss.keySpan, loss.value));
    return result;
  }
  const data = row.texts === undefined ? textsOfData(python) : { call, texts: row.texts };
  if (data !== undefined) result.push(at("texts_per_sample", data.call, data.texts));
  if (row.cached === true) result.push(...pieceOf(call));
  const guide = row.guided === true ? (given(call, "guide") ?? call.positional[1]) : undefined;
  if (guide !== undefined) result.push(uncounted("guide", call.calleeSpan, guide));
  return result;
}
