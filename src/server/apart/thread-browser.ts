/** The analysis program in a Web Worker. */
import { unpacked } from "../../analysis/models/unpacked";
import { type AnalysisModule, withLibraries } from "./program";
import { THREAD_DATA } from "./thread-data";

/** An event of a message. */
interface Said {
  readonly data: unknown;
}

/** The global scope of a Web Worker, as far as it is used. */
interface Scope {
  readonly name?: string;
  fetch(url: string): Promise<{ readonly ok: boolean; readonly status: number; arrayBuffer(): Promise<ArrayBuffer> }>;
  addEventListener(event: "message", handler: (event: Said) => void): void;
  removeEventListener(event: "message", handler: (event: Said) => void): void;
  dispatchEvent(event: unknown): void;
  setTimeout(task: () => void): void;
  readonly MessageEvent: new (kind: string, init: Said) => unknown;
}

const scope = globalThis as unknown as Scope;

/** @param program URL of the packed analysis program */
export async function loaded(program: string): Promise<AnalysisModule> {
  const answer = await scope.fetch(program);
  if (!answer.ok) throw new Error(`the analysis cannot be loaded (${answer.status})`);
  const source = new TextDecoder().decode(await unpacked(new Uint8Array(await answer.arrayBuffer())));
  const module = { exports: {} };
  const require = withLibraries((name) => {
    throw new Error(`there is no ${name} here`);
  });
  // The extension's own code, which this is a part of: a script element of a worker.
  new Function("module", "require", source)(module, require);
  return module.exports as AnalysisModule;
}

/** Starts the program where this is a thread for it: the first message has its URL, those behind it are for the program. */
export function start(): void {
  if (scope.name !== THREAD_DATA) return;
  const early: unknown[] = [];
  const listen = ({ data }: Said): void => {
    early.push(data);
    // A worker fails by what it throws.
    if (early.length === 1)
      begin(data as string).catch((reason) =>
        scope.setTimeout(() => {
          throw reason;
        }),
      );
  };
  const begin = async (program: string): Promise<void> => {
    await loaded(program);
    scope.removeEventListener("message", listen);
    for (const data of early.slice(1)) scope.dispatchEvent(new scope.MessageEvent("message", { data }));
  };
  scope.addEventListener("message", listen);
}
