import { AgentError } from "../errors.ts";

/** An answer with JSON. The server adds the headers that all its answers have. */
export function replyJson(value: unknown, status: number = 200): Response {
  return new Response(`${JSON.stringify(value)}\n`, {
    status,
    headers: { "content-type": "application/json" },
  });
}

/** The JSON of a small body. Throws `unsupported_media_type`, `too_large` or `invalid_request`. */
export async function readBody(request: Request): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
    throw new AgentError("unsupported_media_type", "the body must be application/json");
  }
  const text = await readBodyText(request);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new AgentError("invalid_request", "the body is not valid JSON");
  }
}

/** The text of a body of at most 64 KiB. */
async function readBodyText(request: Request, limitBytes: number = 65_536): Promise<string> {
  let size = 0;
  const decoder = new TextDecoder();
  let text = "";
  const chunks: AsyncIterable<Uint8Array> | readonly Uint8Array[] = request.body ?? [];
  for await (const chunk of chunks) {
    size += chunk.byteLength;
    if (size > limitBytes) throw new AgentError("too_large", `the body is larger than ${limitBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
