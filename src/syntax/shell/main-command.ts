/** Which command of a script trains. */
import type { ShellCommand, ShellScript } from "../tree";

/** Commands whose arguments configure no training. */
const PLAIN =
  /^(?:\[{1,2}|test|echo|printf|cd|mkdir|rm|cp|mv|ls|set|unset|source|\.|exit|return|sleep|wait|trap|shift|true|false|conda|pip|pip3|uv|apt|apt-get|git|wget|curl|tar|unzip|module|nvidia-smi|which|kill|pkill|grep|sed|awk|tee|cat|date|hostname|scontrol|chmod|ulimit|export|read|local|declare|let|break|continue|huggingface-cli|hf|wandb)$/;

/** The command that trains: the one with the most arguments among those that are not shell housekeeping. */
export function mainCommand(shell: ShellScript): ShellCommand | null {
  let best: ShellCommand | null = null;
  let most = 0;
  for (const command of shell.commands) {
    const size = sizeOf(command);
    if (size > most) {
      best = command;
      most = size;
    }
  }
  return best;
}

/** Number of arguments a command has that may configure a training. */
export function sizeOf(command: ShellCommand): number {
  if (PLAIN.test(command.words[0]?.text ?? "")) return 0;
  return command.flags.entries.length + command.overrides.entries.length;
}
