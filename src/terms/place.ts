/** Where a program runs that is the same for Node and for browsers. */

/** Whether this is Node; hosts of extensions in a browser have a `process` too, of no version. */
export function inNode(): boolean {
  return typeof process !== "undefined" && typeof process.versions?.node === "string";
}
