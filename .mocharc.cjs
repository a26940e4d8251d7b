/** Files named on the command line run alone; without any, the whole suite does. */
const named = process.argv.slice(2).some((argument) => /\.test\.ts$/.test(argument));

module.exports = {
  extension: ["ts"],
  ...(named ? {} : { spec: ["test/**/*.test.ts"] }),
  ignore: ["test/vscode/**"],
  "node-option": ["import=tsx"],
  reporter: "dot",
  timeout: 240000,
};
