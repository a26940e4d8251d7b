/**
 * Lets Node run the project's TypeScript as it is: `node --require ./scripts/typescript.cjs FILE.ts`, and the tests.
 *
 * What a module exports stays a plain property of it. Getters that stand in for properties, as esbuild's CommonJS has them (twice,
 * with a name looked up each time), made a constant of the allocator's replay as dear as the replay itself.
 */
const Module = require("node:module");
const { addHook } = require("sucrase/dist/register");

addHook(".ts", { transforms: ["imports", "typescript"], disableESTransforms: true, preserveDynamicImport: true });

// A path without an ending is TypeScript first, as it is for the compiler: `recipes.ts` stands beside `recipes.json`.
const others = Object.entries(Module._extensions).filter(([ending]) => ending !== ".ts");
for (const [ending] of others) delete Module._extensions[ending];
Object.assign(Module._extensions, Object.fromEntries(others));
