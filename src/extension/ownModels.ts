/** What is known of models of somebody's own before anything runs: classes of a text, the command that would be run. Pure. */

/** `class GPT(nn.Module):`, at the start of a line. */
const CLASS =
  /^class[ \t]{1,20}([A-Za-z_]\w{0,99})[ \t]{0,20}\((?:[\w.]{1,80}\.)?(?:Module|LightningModule)[ \t]{0,20}[,)]/;

export interface OwnClass {
  readonly name: string;
  readonly line: number;
}

/** Classes of models that a text defines at its top level. */
export function ownClasses(text: string): OwnClass[] {
  return text.split("\n").flatMap((content, line) => {
    const name = CLASS.exec(content)?.[1];
    return name === undefined ? [] : [{ name, line }];
  });
}

/** Seconds that a trace or a check may take. */
const TIME_LIMIT = 900;

/** Arguments of the interpreter for a trace of a class. */
export function traceArguments(file: string, name: string): readonly string[] {
  return ["-m", "vram_lens", "trace", "--time-limit", String(TIME_LIMIT), `${file}:${name}`];
}

/** Arguments of the interpreter for two steps of a script on a device that is not there. */
export function checkArguments(file: string): readonly string[] {
  return ["-m", "vram_lens", "check", "--time-limit", String(TIME_LIMIT), file];
}

/** A command as a person would write it: what has anything but plain signs in it stands in quotes. */
export function commandLine(python: string, words: readonly string[]): string {
  return [python, ...words].map((word) => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}
