import type { IncomingMessage } from "node:http";
import { AgentError } from "../../errors.ts";

/** Reads the text of a request; `too_large` above the limit, and the rest is not read. */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection stays, so that the refusal can be sent.
  const read = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of read) {
    bytes += chunk.byteLength;
    if (bytes > limitBytes)
      throw new AgentError("too_large", `the message of another node is larger than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
