/** What is counted for code that was not captured: said with the verdict on every surface, in fewer words than the assumption has. */
import type { Message, MessageId } from "../../words/message";
import { say } from "../../words/message";
import type { Variant } from "../estimate/run-analysis";
import { NEWEST } from "../frameworks/versions";

/** Of what is assumed: that something else is counted for code that was not captured. */
const STAND_INS: ReadonlySet<MessageId> = new Set<MessageId>([
  "assume.own-code",
  "assume.release-code",
  "assume.loss-stands",
  "assume.unsloth",
  "engine.relative",
  "engine.branch",
]);

/** What stands in for the code that runs. */
export function standInsOf({ estimate, resolution }: Variant): readonly Message[] {
  return [
    ...resolution.suppositions.map(({ message }) => message),
    ...(estimate?.assumptions ?? []).map((one) => one.what),
  ]
    .filter(({ id }) => STAND_INS.has(id))
    .map((what) => shortened(what, resolution.libraries.transformers));
}

/** The assumption without its second half, which is said where all assumptions are. */
function shortened(what: Message, release: string): Message {
  const { code = "", framework = "" } = what.args;
  if (what.id === "assume.own-code") return say("said.code-stands", { code, framework });
  if (what.id === "assume.release-code") return say("said.newest-stands", { newest: NEWEST.transformers, release });
  return what;
}
