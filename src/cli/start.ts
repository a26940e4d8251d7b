/** The `vram-lens` program as it is installed: starts the command line, compiled where it ran before. */
import { join } from "node:path";
import { compiledFolder, startCompiled } from "../host/compiled";

startCompiled(join(__dirname, "command-line.js"), compiledFolder(process.env, process.platform), (write) =>
  process.once("exit", write),
);
