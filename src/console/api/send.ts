import type { PageServer } from "../data/page-server.ts";
import type { ApiRequest } from "./request.ts";

/** An answer as it was sent, also a refusal. */
export interface ApiReply {
  readonly status: number;
  readonly statusText: string;
  readonly type: string;
  /** The headers that a next request needs. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What was received of the body, at most its last part; absent if it is no text. */
  readonly text?: string;
  /** The bytes of the body that were received. */
  readonly bytes: number;
  readonly isComplete: boolean;
  readonly tookMs: number;
}

/** The body of a request. */
export type ApiBody = { readonly type: string; readonly content: string | Blob } | undefined;

/** Sends a request and reports its answer with each part that is received. Throws if there is none. */
export async function sendRequest(
  server: PageServer,
  request: ApiRequest,
  body: ApiBody,
  options: { readonly signal: AbortSignal; readonly onReply: (reply: ApiReply) => void },
): Promise<void> {
  const { method, path, headers } = request;
  const started = performance.now();
  const response = await fetch(`${server.url}${path}`, {
    method,
    signal: options.signal,
    cache: "no-store",
    redirect: "manual",
    headers: {
      accept: "*/*",
      ...headers,
      ...(body && { "content-type": body.type }),
      ...(server.token !== undefined && { authorization: `Bearer ${server.token}` }),
    },
    ...(body && { body: body.content }),
  });
  const type = response.headers.get("content-type") ?? "";
  const isText = /json|text|^$/.test(type);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  const show = (isComplete: boolean): void =>
    options.onReply({
      status: response.status,
      statusText: response.statusText,
      type,
      headers: SHOWN.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      }),
      ...(isText && { text }),
      bytes,
      isComplete,
      tookMs: performance.now() - started,
    });
  show(false);
  const reader = response.body?.getReader();
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    bytes += part.value.byteLength;
    if (isText) text = (text + decoder.decode(part.value, { stream: true })).slice(-LONGEST);
    show(false);
  }
  show(true);
}

const SHOWN = ["location", "link", "idempotent-replayed", "retry-after"];

/** A stream can be endless. */
const LONGEST = 400_000;
