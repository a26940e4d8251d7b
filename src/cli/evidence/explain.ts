/** `vram-lens explain LOG`: what happened where memory ran out. */
import { resolve } from "node:path";
import type { Explanation } from "../../analysis/explain/explain";
import { explainLog } from "../../analysis/explain/log";
import { localeOf, t } from "../../analysis/messages";
import type { Runtime } from "../../analysis/runtime";
import { uriOf } from "../../host/node";
import { allPrintable } from "../../words/printable";
import type { Request } from "../arguments";
import type { Io, Parts } from "../io";
import { words } from "../words";
import { wrapped } from "../wrap";
import { languageOf } from "./language";

/** Configs of the log's folder that are looked at. */
const MOST_CONFIGS = 40;

/** Text of the log, from a file or the standard input; undefined when it cannot be read. */
async function readLog(path: string, runtime: Runtime, io: Io): Promise<string | undefined> {
  if (path === "-") return io.stdin?.();
  return runtime.files.readText(uriOf(resolve(io.cwd, path)));
}

function shown(
  explanation: Explanation,
  pen: { readonly color: boolean; readonly columns?: number | undefined; readonly say: ReturnType<typeof words> },
): string {
  const strong = (text: string): string => (pen.color ? `\u001b[1m${text}\u001b[0m` : text);
  const { title, where, room, why, frame, tensorSaid, estimate, advice } = explanation;
  const place = frame === null ? "" : `${frame.file}:${frame.line}${frame.name === "" ? "" : ` ${frame.name}`}`;
  return [
    [strong(title), where].filter((part) => part !== "").join("   "),
    room,
    ...why,
    place === "" ? "" : pen.say("explain.at", { place }),
    ...tensorSaid,
    estimate ?? "",
    ...advice.map((change) => `- ${change.title}`),
  ]
    .filter((line) => line !== "")
    .map((line, index) => wrapped(index === 0 ? line : `  ${line}`, pen.columns))
    .join("\n");
}

/** @returns exit status: 0 explained, 1 nothing in the log says that memory ran out, 2 the log cannot be read */
export async function explainCommand(request: Request, runtime: Runtime, io: Io, parts: Parts): Promise<number> {
  const [path = "-"] = request.paths;
  const language = languageOf(request, io);
  const locale = localeOf(language);
  const log = await readLog(path, runtime, io);
  if (log === undefined) {
    io.stderr(`vram-lens: ${words(locale)("unreadable", { path })}\n`);
    return 2;
  }
  const analyzer = parts.createAnalyzer(runtime);
  const folder = uriOf(path === "-" ? io.cwd : resolve(io.cwd, path, ".."));
  const configs =
    request.config === undefined
      ? (await analyzer.discover(folder)).configs.slice(0, MOST_CONFIGS)
      : [uriOf(resolve(io.cwd, request.config))];
  const explanations = await explainLog(
    log,
    {
      configs,
      device: request.device,
      deviceCount: request.deviceCount,
      set: request.set,
      allow: request.allow,
      locale: language,
    },
    (uri, options) => analyzer.analyse(uri, options),
  );
  if (request.format === "json") {
    io.stdout(`${JSON.stringify({ schema: "vram-lens/explanation/1", explanations })}\n`);
    return explanations.length === 0 ? 1 : 0;
  }
  const pen = { color: io.color, columns: io.columns, say: words(locale) };
  const texts = explanations.map((explanation) => shown(allPrintable(explanation), pen));
  io.stdout(texts.length === 0 ? `${t(locale, "oom.none")}\n` : `${texts.join("\n\n")}\n`);
  return explanations.length === 0 ? 1 : 0;
}
