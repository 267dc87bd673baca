/** Reads the text of a message or an answer; `undefined` above the limit, and the rest is not read. */
export async function readBody(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
): Promise<string | undefined> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes) return undefined;
    read.push(chunk);
  }
  return Buffer.concat(read).toString("utf8");
}
