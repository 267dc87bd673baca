import type { Wire } from "./wire.ts";

/**
 * Reads the whole body of a response, which must be JSON or empty. An error of the connection is thrown as it is.
 */
export async function readResponseJson(response: Response, wire: Wire): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of chunksOf(response)) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_LIMIT_BYTES)
      throw wire.fault("too_large", `answers with more than ${ANSWER_LIMIT_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  if (text === "") return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw wire.fault("call_failed", "did not answer with JSON", { cause });
  }
}

/** Maximum size of an answer that is read at once. */
const ANSWER_LIMIT_BYTES = 8 * 1_048_576;

/** The body of a response in chunks; the connection is closed when the reader stops early. */
export async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const piece: Piece = await reader.read();
      if (piece.value === undefined) return;
      yield piece.value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

interface Piece {
  /** Absent at the end. */
  readonly value?: Uint8Array | undefined;
}
