/** A log and the configs that it may be of, to explanations: each failure beside the run that it fits best. */
import { sizeWithRoom } from "../../core/hardware/room";
import { blameFor } from "../../evidence/log/cause";
import { type Failure, failuresIn } from "../../evidence/log/failures";
import type { ServedAnalysis } from "../analyzer";
import { localeOf } from "../messages";
import type { AnalysisOptions } from "../options";
import { type Explanation, explain } from "./explain";

/** Failures of one log that are explained; a log of hundreds of ranks says the same of each. */
const MOST_EXPLAINED = 16;
/** Configs that are tried for a log that names none of them. */
const MOST_TRIED = 4;

export interface LogOptions extends AnalysisOptions {
  /** Configs that the log may be of, likeliest first. */
  readonly configs: readonly string[];
}

/** Analyses a document; the card is the one that the log describes unless the person named one. */
export type Analyse = (uri: string, options: AnalysisOptions) => Promise<Pick<ServedAnalysis, "runs" | "explain">>;

/** What the driver says of the card, less what others have: the room that the run had. */
function roomFor(failure: Failure): string | undefined {
  const { total, others } = failure;
  if (total === null || failure.backend === "mps" || failure.backend === "xla") return undefined;
  const { cause, bytes, processes } = blameFor(failure);
  const taken = cause === "other-process" ? (bytes ?? 0) : 0;
  const named = others.filter(({ pid }) => processes.includes(pid)).reduce((sum, { size }) => sum + size.bytes, 0);
  const room = total.bytes - Math.max(taken, named);
  return room > 2 ** 30 ? sizeWithRoom(room) : undefined;
}

/** Configs that the log names come first, and alone if there are any. */
export function likelyConfigs(log: string, configs: readonly string[]): readonly string[] {
  const named = configs.filter((uri) => log.includes(decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1))));
  return (named.length > 0 ? named : configs).slice(0, MOST_TRIED);
}

/** The better of two explanations of one failure: the one that names a tensor that is alive at what the message says. */
function better(a: Explanation, b: Explanation | undefined, failure: Failure): boolean {
  if (b === undefined) return true;
  if ((a.tensor === null) !== (b.tensor === null)) return a.tensor !== null;
  const said = failure.allocated?.bytes;
  if (a.tensor === null || b.tensor === null || said === undefined) return false;
  return Math.abs(a.tensor.aliveBytes - said) < Math.abs(b.tensor.aliveBytes - said);
}

/**
 * Explains every failure of a log.
 *
 * @param analyse reads no more than the files it is asked for; a failure of it is an explanation without a run
 */
export async function explainLog(log: string, options: LogOptions, analyse: Analyse): Promise<readonly Explanation[]> {
  const { configs, ...rest } = options;
  const locale = localeOf(options.locale);
  const likely = likelyConfigs(log, configs);
  const known = new Map<string, Promise<Pick<ServedAnalysis, "runs" | "explain">>>();
  const analysed = (uri: string, device: string | undefined) => {
    const key = JSON.stringify([uri, device]);
    const found = known.get(key) ?? analyse(uri, { ...rest, device: options.device ?? device, plans: true });
    known.set(key, found);
    return found;
  };
  const explanations: Explanation[] = [];
  for (const failure of failuresIn(log).slice(0, MOST_EXPLAINED)) {
    let best: Explanation | undefined;
    for (const uri of likely) {
      const analysis = await analysed(uri, roomFor(failure)).catch(() => undefined);
      for (const run of analysis?.runs ?? []) {
        const found = (await analysis?.explain?.(run.id, failure)) ?? undefined;
        if (found !== undefined && better(found, best, failure)) best = found;
      }
    }
    explanations.push(best ?? explain(failure, locale));
  }
  return explanations;
}
