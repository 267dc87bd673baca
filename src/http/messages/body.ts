import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { AgentError, toAgentError } from "../../errors.ts";
import { nodeOf } from "./app-env.ts";
import type { AppEnv } from "./app-env.ts";

type Incoming = HttpBindings["incoming"];

/** How a JSON body is read. */
export interface JsonOptions {
  /** Whether a request may have no body; its value is then undefined. Default false. */
  readonly optional?: boolean;
}

/**
 * Reads a JSON body up to a size limit. The value is remembered, so that a handler can look at it and pass the request
 * on.
 */
export async function readJson(
  c: Context<AppEnv>,
  limitBytes: number,
  { optional = false }: JsonOptions = {},
): Promise<unknown> {
  const known = c.get("json");
  if (known !== undefined) return known.value;
  if (optional && !hasBody(c)) return undefined;
  const value = await parseBody(c, limitBytes, optional);
  c.set("json", { value });
  return value;
}

async function parseBody(c: Context<AppEnv>, limitBytes: number, optional: boolean): Promise<unknown> {
  const type = c.req.header("content-type") ?? "";
  if (!JSON_TYPE.test(type)) {
    throw new AgentError("unsupported_media_type", "the body must be application/json, in UTF-8");
  }
  if ((c.req.header("content-encoding") ?? "identity") !== "identity") {
    throw new AgentError("unsupported_media_type", "the body must not be compressed");
  }
  const bytes = await readBytes(c, limitBytes);
  return optional && bytes.byteLength === 0 ? undefined : parseJson(bytes);
}

/** Reads a body of any type up to a size limit. */
export async function readBytes(c: Context<AppEnv>, limitBytes: number): Promise<Uint8Array> {
  checkLength(c, limitBytes);
  const incoming = nodeOf(c)?.incoming;
  return incoming ? collect(incoming, limitBytes) : collectWeb(c, limitBytes);
}

/** Whether a request announces a body. */
function hasBody(c: Context<AppEnv>): boolean {
  const length = c.req.header("content-length");
  if (length !== undefined) return Number(length) !== 0;
  return nodeOf(c) === undefined ? c.req.raw.body !== null : c.req.header("transfer-encoding") !== undefined;
}

/** The unread body, for callers that limit its size themselves. */
export function bodyChunks(c: Context<AppEnv>, limitBytes: number): AsyncIterable<Uint8Array> {
  checkLength(c, limitBytes);
  const incoming = nodeOf(c)?.incoming;
  // A reader that stops early still sends an answer, so the connection must stay open.
  if (incoming && "iterator" in incoming) return untilCutOff(incoming.iterator({ destroyOnReturn: false }));
  return untilCutOff(c.req.raw.body ?? NOTHING);
}

/**
 * A request whose body ends with an error above a size; `check` throws what was wrong with the part that was read. A body that
 * `readJson` has read is not there any more.
 */
export function limitedBody(
  c: Context<AppEnv>,
  limitBytes: number,
): { readonly request: Request; check(): void } {
  const { raw } = c.req;
  if (!hasBody(c) || c.get("json") !== undefined) return { request: raw, check() {} };
  const chunks = bodyChunks(c, limitBytes)[Symbol.asyncIterator]();
  let sizeBytes = 0;
  let fault: AgentError | undefined;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await chunks.next();
        if (next.done === true) {
          controller.close();
          return;
        }
        sizeBytes += next.value.byteLength;
        if (sizeBytes > limitBytes) throw tooLarge(limitBytes);
        controller.enqueue(next.value);
      } catch (thrown) {
        fault ??= toAgentError(thrown);
        controller.error(fault);
      }
    },
    async cancel() {
      await chunks.return?.();
    },
  });
  const { method, headers, signal, url } = raw;
  return {
    request: new Request(url, { method, headers, signal, body, duplex: "half" }),
    check() {
      if (fault !== undefined) throw fault;
    },
  };
}

/** A body that its client does not send to the end is a fault of the client. */
async function* untilCutOff(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* chunks;
  } catch {
    throw cutOff();
  }
}

const JSON_TYPE = /^application\/json *(?:; *charset="?utf-8"? *)?$/i;

// A byte order mark is kept, so it is invalid JSON.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const NOTHING: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* nothing() {} };

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw new AgentError("invalid_request", "the body is not JSON");
  }
}

function checkLength(c: Context<AppEnv>, limitBytes: number): void {
  if (Number(c.req.header("content-length") ?? 0) > limitBytes) throw tooLarge(limitBytes);
}

function tooLarge(limitBytes: number): AgentError {
  return new AgentError("too_large", `the body is larger than ${limitBytes} bytes`);
}

function cutOff(): AgentError {
  return new AgentError("invalid_request", "the body ended too early");
}

/** Reads Node's stream directly: a web stream around it costs more than the rest of the request. */
function collect(incoming: Incoming, limitBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let sizeBytes = 0;
    let isOver = false;
    // No event comes after that.
    if (incoming.destroyed) finish(() => reject(cutOff()));
    incoming.on("data", (chunk: Buffer) => {
      sizeBytes += chunk.byteLength;
      if (sizeBytes <= limitBytes) chunks.push(chunk);
      else finish(() => reject(tooLarge(limitBytes)));
    });
    incoming.on("end", () => {
      finish(() =>
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
      );
    });
    incoming.on("close", () => finish(() => reject(cutOff())));
    incoming.on("error", () => finish(() => reject(cutOff())));

    function finish(settle: () => void): void {
      if (isOver) return;
      isOver = true;
      settle();
      // The listeners live as long as the connection; the body must not.
      chunks = [];
    }
  });
}

async function collectWeb(c: Context<AppEnv>, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of untilCutOff(c.req.raw.body ?? NOTHING)) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(sizeBytes);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
