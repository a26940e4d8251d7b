/** Pickles as data: what Python 3.11 wrote of one value with each protocol, and what asks for more than reading. */
import { strict as assert } from "node:assert";
import { readPickle } from "../../src/evidence/pickle/read";

const bytesOf = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, "base64"));

/** Numbers, text, bytes, lists, tuples, a set, keys of every kind, one list twice; protocols 0 to 5. */
const PROTOCOLS = [
  "KGRwMApWYQpwMQoobHAyCkkxCmFJLTIKYUwxMDk5NTExNjI3Nzc2TAphTC0xMTgwNTkxNjIwNzE3NDExMzAzNDI0TAphRjEuNQphSTAxCmFOYVbp6enp6enp6enp6enp6enp6enp6QpwMwphc1Z0CnA0CigoSTEKSTIKdHA1Cih0KEkxCnRwNgp0cDcKc1ZfX3Byb3RvX18KcDgKKGRwOQpWeApwMTAKSTEKc3NJMwpWbgpwMTEKc1Zsb25nCnAxMgpWenp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6CnAxMwpzVmFnYWluCnAxNApnMgpzLg==",
  "fXEAKFgBAAAAYXEBXXECKEsBSv7///9MMTA5OTUxMTYyNzc3NkwKTC0xMTgwNTkxNjIwNzE3NDExMzAzNDI0TApHP/gAAAAAAABJMDEKTlgoAAAAw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqXEDZVgBAAAAdHEEKChLAUsCdHEFKShLAXRxBnRxB1gJAAAAX19wcm90b19fcQh9cQlYAQAAAHhxCksBc0sDWAEAAABucQtYBAAAAGxvbmdxDFgsAQAAenp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6cQ1YBQAAAGFnYWlucQ5oAnUu",
  "gAJ9cQAoWAEAAABhcQFdcQIoSwFK/v///4oGAAAAAAABigkAAAAAAAAAAMBHP/gAAAAAAACITlgoAAAAw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqXEDZVgBAAAAdHEESwFLAoZxBSlLAYVxBodxB1gJAAAAX19wcm90b19fcQh9cQlYAQAAAHhxCksBc0sDWAEAAABucQtYBAAAAGxvbmdxDFgsAQAAenp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6cQ1YBQAAAGFnYWlucQ5oAnUu",
  "gAN9cQAoWAEAAABhcQFdcQIoSwFK/v///4oGAAAAAAABigkAAAAAAAAAAMBHP/gAAAAAAACITlgoAAAAw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqXEDZVgBAAAAdHEESwFLAoZxBSlLAYVxBodxB1gBAAAAYnEIQwJ4eXEJWAkAAABfX3Byb3RvX19xCn1xC1gBAAAAeHEMSwFzSwNYAQAAAG5xDVgEAAAAbG9uZ3EOWCwBAAB6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enpxD1gFAAAAYWdhaW5xEGgCdS4=",
  "gASV3wEAAAAAAAB9lCiMAWGUXZQoSwFK/v///4oGAAAAAAABigkAAAAAAAAAAMBHP/gAAAAAAACITowow6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqZRljAF0lEsBSwKGlClLAYWUh5SMAWKUQwJ4eZSMCV9fcHJvdG9fX5R9lIwBeJRLAXNLA4wBbpSMAXOUj5QoSwGQjARsb25nlFgsAQAAenp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6lIwFYWdhaW6UaAJ1Lg==",
  "gAWV3wEAAAAAAAB9lCiMAWGUXZQoSwFK/v///4oGAAAAAAABigkAAAAAAAAAAMBHP/gAAAAAAACITowow6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqcOpw6nDqZRljAF0lEsBSwKGlClLAYWUh5SMAWKUQwJ4eZSMCV9fcHJvdG9fX5R9lIwBeJRLAXNLA4wBbpSMAXOUj5QoSwGQjARsb25nlFgsAQAAenp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6lIwFYWdhaW6UaAJ1Lg==",
];

/** Objects whose `__reduce__` is `os.system`: protocols 4 and 0; an ordered dictionary. */
const SYSTEM = [
  "gASVHwAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjARlY2hvlIWUUpQu",
  "Y3Bvc2l4CnN5c3RlbQpwMAooVmVjaG8KcDEKdHAyClJwMwou",
];
const ORDERED = "gASVKQAAAAAAAACMC2NvbGxlY3Rpb25zlIwLT3JkZXJlZERpY3SUk5QpUpSMAWGUSwFzLg==";

describe("a pickle", () => {
  for (const [protocol, text] of PROTOCOLS.entries()) {
    it(`of protocol ${protocol} is read as data`, () => {
      const read = readPickle(bytesOf(text));
      assert.ok(read.ok, JSON.stringify(read));
      const value = read.value as Record<string, unknown>;
      assert.deepEqual(value["a"], [1, -2, 2 ** 40, -(2 ** 70), 1.5, true, null, "é".repeat(20)]);
      assert.deepEqual(value["t"], [[1, 2], [], [1]]);
      assert.equal(value["3"], "n");
      assert.equal(value["long"], "z".repeat(300));
      assert.equal(value["again"], value["a"]);
      if (protocol > 2) assert.deepEqual(value["b"], new Uint8Array([120, 121]));
      // A key that every object has is an own one, and nothing's prototype changes.
      assert.deepEqual(Object.getOwnPropertyDescriptor(value, "__proto__")?.value, { x: 1 });
      assert.equal(Object.getPrototypeOf(value), Object.prototype);
    });
  }

  it("that asks for code is refused by the name of what it asks for", () => {
    for (const text of SYSTEM) {
      const read = readPickle(bytesOf(text));
      assert.equal(!read.ok && read.why, "code");
      assert.match(read.ok ? "" : read.what, /system/);
    }
    const ordered = readPickle(bytesOf(ORDERED));
    assert.equal(!ordered.ok && ordered.what, "collections.OrderedDict");
  });

  it("that is cut short, or is none, is refused", () => {
    const whole = bytesOf(PROTOCOLS[4] ?? "");
    for (let length = 0; length < whole.length - 1; length += 7)
      assert.equal(readPickle(whole.subarray(0, length)).ok, false);
    for (const text of ["", "hello", "{}", "\u0000\u0001"])
      assert.equal(readPickle(new TextEncoder().encode(text)).ok, false);
  });

  it("that asks for endless work or memory ends", () => {
    const repeated = (code: number[], times: number, end: number[]): Uint8Array => {
      const bytes = new Uint8Array(code.length * times + end.length);
      for (let k = 0; k < times; k++) bytes.set(code, k * code.length);
      bytes.set(end, code.length * times);
      return bytes;
    };
    // A list in a list in a list, 200 000 deep; marks without end; a text of 2⁶² bytes; a memo far outside.
    assert.ok(readPickle(repeated([0x5d], 200_000, [...new Array(199_999).fill(0x61), 0x2e])).ok);
    assert.equal(readPickle(repeated([0x28], 500_000, [0x2e])).ok, false);
    assert.equal(readPickle(Uint8Array.from([0x8d, 255, 255, 255, 255, 255, 255, 255, 63])).ok, false);
    assert.equal(readPickle(Uint8Array.from([0x4e, 0x72, 255, 255, 255, 255, 0x2e])).ok, false);
    assert.equal(readPickle(Uint8Array.from([0x8b, 255, 255, 255, 127])).ok, false);
    // A list that holds itself is one.
    assert.ok(readPickle(Uint8Array.from([0x5d, 0x94, 0x68, 0, 0x61, 0x2e])).ok);
  });

  it("of random bytes never throws", () => {
    let seed = 7;
    for (let round = 0; round < 3000; round++) {
      const bytes = Uint8Array.from({ length: 60 }, () => {
        seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
        return seed >> 16;
      });
      assert.doesNotThrow(() => readPickle(bytes));
    }
  });
});
