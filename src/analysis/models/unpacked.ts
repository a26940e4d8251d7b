/** XZ unpacked: model data and the analysis program, the way the extension ships them. */
import { XzReadableStream } from "xz-decompress";

/** Everything that a stream of bytes gives. */
async function all(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** What was packed. Rejects where it is no XZ. */
export function unpacked(packed: Uint8Array): Promise<Uint8Array> {
  const source = new ReadableStream<Uint8Array>({
    start: (to) => {
      to.enqueue(packed);
      to.close();
    },
  });
  return all(new XzReadableStream(source));
}
