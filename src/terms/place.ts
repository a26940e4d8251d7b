/** Where a program runs that is the same for Node and for browsers. */

/** Whether this is Node; hosts of extensions in a browser may have a `process` too, but are Web Workers. */
export function inNode(): boolean {
  const isWebWorker = "WorkerGlobalScope" in globalThis;
  return !isWebWorker && typeof process !== "undefined" && typeof process.versions?.node === "string";
}
