const { join } = require("node:path");

/** Files and folders of tests that the command line names run alone; without any, the whole suite does. */
const named = process.argv.slice(2).some((argument) => /^(?:\.\/)?test\/|\.test\.ts$/.test(argument));

module.exports = {
  extension: ["ts"],
  recursive: true,
  ...(named ? {} : { spec: ["test/**/*.test.ts"] }),
  ignore: ["test/vscode/**"],
  require: [join(__dirname, "scripts", "typescript.cjs")],
  reporter: "dot",
  timeout: 240000,
};
