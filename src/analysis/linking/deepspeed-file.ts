/** The DeepSpeed settings that a run is made of. */
import { deepspeed as deepspeedFormat } from "../../formats/deepspeed";
import { deepspeedBlock, deepspeedReader } from "../../formats/deepspeed/read";
import type { DocumentLink, Format } from "../../formats/types";
import { parseJson } from "../../syntax/json";
import { nodeAt } from "../../syntax/text";
import { say } from "../../words/message";
import type { Composition } from "../compose";
import type { LoadedDocument } from "../documents/store";
import { joinUri, parentOf } from "../documents/uris";
import { frameworkOf } from "../frameworks/frameworks";
import { located, type Setting } from "../frameworks/settings";
import type { Problem } from "../problems";
import type { Following } from "./followed";
import type { Launch } from "./launch";

function isDeepspeed({ config }: LoadedDocument): boolean {
  return config?.parsed.root?.kind === "map" && deepspeedFormat.recognise(config).confidence > 0;
}

const isOfKind =
  (wanted: DocumentLink["kind"]) =>
  ({ kind }: DocumentLink): boolean =>
    kind === wanted;

/** A document as its format reads it, put together from others where it is. */
interface Composed {
  readonly main: LoadedDocument;
  readonly format: Format;
  readonly composed: Composition | undefined;
}

/** The DeepSpeed settings of a run: the document itself, a block inside it, or the file it names; "unread" where that cannot be read. */
export async function followDeepspeed(
  { main, format, composed }: Composed,
  links: readonly (DocumentLink & { readonly from: LoadedDocument })[],
  launch: Launch | undefined,
  starts: readonly string[],
  following: Following,
): Promise<{ document: LoadedDocument; settings: readonly Setting[] } | "unread" | undefined> {
  if (frameworkOf(format).part === "engine") return { document: main, settings: [] };
  const { settings } = composed?.read ?? main.read;
  const inline = deepspeedBlock(settings);
  if (inline !== undefined) return { document: composed?.documentAt(inline.node.start) ?? main, settings: [] };
  const own = links.find(isOfKind("engine"));
  const accelerate = launch?.accelerate?.document;
  const link = own ?? accelerate?.read.links.find(isOfKind("engine"));
  const holder = own?.from ?? accelerate ?? main;
  if (link === undefined) {
    const inlineThere = accelerate?.read.settings.some((setting) => setting.name === "zero_stage") === true;
    return inlineThere && accelerate !== undefined ? { document: accelerate, settings: [] } : undefined;
  }
  const stop = (code: string, severity: Problem["severity"], message: Problem["message"]): "unread" => {
    following.problems.push({ code, severity, message, uri: holder.uri, span: link.span });
    return "unread";
  };
  for (const start of new Set([...(own === undefined ? [] : [parentOf(own.from.uri)]), ...starts])) {
    const uri = joinUri(start, link.target);
    following.dependencies.add(uri);
    const document = await following.store.load(uri);
    if (document === undefined) continue;
    const root = document.config?.parsed.root;
    // What lies outside and is no such config is not there: else a config could ask which files exist.
    if (following.isOutside(uri) && !isDeepspeed(document)) continue;
    following.links.push({ kind: "engine", uri: document.file, from: holder.uri, span: link.span });
    if (uri === holder.uri) {
      return stop("cyclic-link", "error", say("cyclic-link", { target: link.target }));
    }
    if (root?.kind !== "map" || document.config === undefined) {
      return stop("missing-file", "error", say("missing-file.unreadable", { target: link.target }));
    }
    if (nodeAt(root, "deepspeed")?.kind === "scalar" && !isDeepspeed(document)) {
      return stop("cyclic-link", "error", say("cyclic-link.not-deepspeed", { target: link.target }));
    }
    return { document, settings: located(deepspeedReader(root).settings, uri, "linked") };
  }
  // Of what was not read nobody knows that it is not there.
  const refused = following.isRefused(link.target);
  const example = refused ? undefined : frameworkOf(format).exampleDeepspeed?.(link.target);
  const root = example === undefined ? null : parseJson(example).root;
  if (root?.kind === "map") {
    const message = say("missing-example", { target: link.target, framework: frameworkOf(format).name });
    stop("missing-file", "information", message);
    const place = { uri: holder.uri, keySpan: link.span, valueSpan: link.span };
    const read = located(deepspeedReader(root).settings, holder.uri, "linked");
    return { document: holder, settings: read.map((setting) => ({ ...setting, place })) };
  }
  // The path starts at the launch directory, which may be another one.
  return stop(
    "missing-file",
    "warning",
    say(refused ? "missing-file.untrusted" : "missing-file.deepspeed", { target: link.target }),
  );
}
