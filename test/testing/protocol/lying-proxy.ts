import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "./tiny-server.ts";

/** The parts of a client's request that a fault can change. */
export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** The body as JSON; absent where there is none. */
  readonly body: Fields | undefined;
}

/** An event, or any object that was JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** How a proxy changes its traffic; everything else passes unchanged. */
export interface Lie {
  /** Changes the request. */
  readonly ask?: (asked: Asked) => Asked;
  readonly status?: (status: number, asked: Asked) => number;
  readonly headers?: (headers: Headers) => void;
  /** Changes an event in a stream or a page: drops, duplicates or modifies it. */
  readonly event?: (event: Fields, asked: Asked) => readonly Fields[];
  /** Changes any other object. */
  readonly object?: (object: Fields, asked: Asked) => Fields;
  /** Changes the text of a frame. */
  readonly frame?: (frame: string) => string;
  /** Changes bytes that are not JSON. */
  readonly bytes?: (bytes: Buffer) => Buffer;
  /** Keeps streams open after their end. */
  readonly hangs?: boolean;
}

/** Forwards to another server, with faults. */
export function serveLies(target: string, lie: Lie): Promise<{ url: string; close(): void }> {
  return listen(
    createServer((request, response) => {
      pass(target, lie, request, response).catch(() => response.destroy());
    }),
  );
}

async function pass(
  target: string,
  lie: Lie,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { asked, raw } = await readAsked(target, request);
  const { method, url, headers, body } = lie.ask?.(asked) ?? asked;
  const stop = new AbortController();
  response.on("close", () => stop.abort());
  const answer = await fetch(url, {
    method,
    headers,
    signal: stop.signal,
    redirect: "manual",
    body: body === undefined ? raw : JSON.stringify(body),
  });
  const status = lie.status?.(answer.status, asked) ?? answer.status;
  const told = new Headers(answer.headers);
  for (const name of [
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "keep-alive",
  ]) {
    told.delete(name);
  }
  lie.headers?.(told);
  response.writeHead(status, Object.fromEntries(told));
  if (answer.headers.get("content-type")?.startsWith("text/event-stream") === true) {
    for await (const frame of framesOf(answer)) response.write(bendFrame(frame, lie, asked));
    if (lie.hangs !== true) response.end();
  } else {
    response.end(bendBody(Buffer.from(await answer.arrayBuffer()), lie, asked));
  }
}

async function readAsked(
  target: string,
  request: IncomingMessage,
): Promise<{ asked: Asked; raw: Uint8Array<ArrayBuffer> | null }> {
  const { method = "GET", url = "/" } = request;
  const bytes = await buffer(request);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (!PROXY_OWN.has(name)) headers.set(name, String(value));
  }
  const raw = bytes.length === 0 ? null : new Uint8Array(bytes);
  // Not new URL(url, target), which parses a path with two slashes as another host.
  return { asked: { method, url: new URL(target + url), headers, body: toFields(bytes.toString()) }, raw };
}

const PROXY_OWN: ReadonlySet<string> = new Set(["host", "connection", "content-length", "transfer-encoding"]);

async function* framesOf(answer: Response): AsyncGenerator<string> {
  let rest = "";
  for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + text).split("\n\n");
    rest = frames.pop() ?? "";
    yield* frames.map((frame) => `${frame}\n\n`);
  }
}

function bendFrame(frame: string, lie: Lie, asked: Asked): string {
  const data = /^data: (.*)$/m.exec(frame)?.[1];
  const event = data === undefined ? undefined : toFields(data);
  if (event === undefined) return frame;
  const told = lie.event?.(event, asked) ?? [event];
  const frames = told.map((fields) => `id: ${String(fields["id"])}\ndata: ${JSON.stringify(fields)}\n\n`);
  return frames.map(lie.frame ?? String).join("");
}

function bendBody(bytes: Buffer, lie: Lie, asked: Asked): Buffer | string {
  const value = toJson(bytes.toString());
  if (Array.isArray(value) && value.every((item) => isFields(item) && "run_id" in item && "type" in item)) {
    return JSON.stringify(value.flatMap((event: Fields) => lie.event?.(event, asked) ?? [event]));
  }
  if (isFields(value)) return JSON.stringify(lie.object?.(value, asked) ?? value);
  return value === undefined ? (lie.bytes?.(bytes) ?? bytes) : bytes;
}

function toFields(text: string): Fields | undefined {
  const value = toJson(text);
  return isFields(value) ? value : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
