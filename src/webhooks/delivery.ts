import { createHmac } from "node:crypto";
import { request as requestHttp } from "node:http";
import type { RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { AgentError } from "../errors.ts";
import type { Semaphore } from "../shared/semaphore.ts";
import { isPublicAddress, lookupPublic, PrivateAddress } from "./address-guard.ts";

/** A message for a receiver. */
export interface WebhookMessage {
  /** The same at every attempt, so that the receiver can leave out what it already has. */
  readonly id: string;
  readonly body: string;
  /** Headers of its own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where messages are sent. */
export interface Receiver {
  readonly url: URL;
  /** Signs the messages. Without it they have the headers of their wire alone. */
  readonly key?: Buffer;
  readonly allowPrivate: boolean;
  /** How many messages are on their way to it at once. */
  readonly slots: Semaphore;
}

/** What a delivery sends, where to, and when its event was, in milliseconds since 1970. */
export interface ToSend {
  readonly at: number;
  readonly receiver: Receiver;
  readonly message: WebhookMessage;
}

/** What became of an attempt: the status of the receiver, or why there is none. */
export interface DeliveryAttempt {
  readonly status?: number;
  readonly error?: string;
}

/** Whether the receiver has taken the message. */
export function isDelivered({ status = 0 }: DeliveryAttempt): boolean {
  return status >= 200 && status < 300;
}

/** Sends a message once, signed as Standard Webhooks says if there is a key. A redirect is not followed. Never throws. */
export async function deliver(
  receiver: Receiver,
  message: WebhookMessage,
  signal: AbortSignal,
): Promise<DeliveryAttempt> {
  const { url, allowPrivate, slots } = receiver;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // An address in the URL is not looked up.
  if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host))
    return { error: new PrivateAddress(host).message };
  try {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(SLOT_MS)]);
    return {
      status: await slots.run(() => send(url, toOptions(receiver, message, signal), message.body), inTime),
    };
  } catch (thrown) {
    const { name, code, message } = thrown as NodeJS.ErrnoException;
    if (thrown instanceof PrivateAddress) return { error: message };
    return {
      error: name === "AbortError" || name === "TimeoutError" ? "no answer in time" : (code ?? message),
    };
  }
}

function toOptions(
  { key, allowPrivate }: Receiver,
  { id, body, headers }: WebhookMessage,
  signal: AbortSignal,
): RequestOptions {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": "troupe",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      ...(key && {
        "webhook-signature": `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
      }),
      ...headers,
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]),
    ...(!allowPrivate && { lookup: lookupPublic }),
    // A kept connection would have been looked up before.
    agent: false,
  };
}

async function send(url: URL, options: RequestOptions, body: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = url.protocol === "https:" ? requestHttps(url, options) : requestHttp(url, options);
  request.once("error", reject);
  request.once("response", (response) => {
    // What the receiver says is not read.
    response.on("error", () => {});
    response.destroy();
    resolve(response.statusCode ?? 0);
  });
  request.end(body);
  return promise;
}

/** How many messages are on their way to one receiver at once. */
export const AT_ONCE = 64;
/** How long one may wait for the others; then it is an attempt that has failed. */
const SLOT_MS = 30_000;
const ATTEMPT_MS = 15_000;

/** The key of a secret such as `whsec_…`: base64 of 24 to 64 bytes. Throws `invalid_request` for another text. */
export function toSigningKey(secret: string): Buffer {
  const [, base64 = ""] = /^whsec_([\w+/]+=*)$/.exec(secret) ?? [];
  const key = Buffer.from(base64, "base64");
  if (key.length >= 24 && key.length <= 64) return key;
  throw new AgentError(
    "invalid_request",
    "the secret of a webhook is not whsec_ and base64 of 24 to 64 bytes",
    {
      hint: 'make one: node -p "`whsec_${crypto.randomBytes(32).toString(`base64`)}`"',
    },
  );
}
