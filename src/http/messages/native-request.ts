import { AgentError, toAgentError } from "../../errors.ts";
import type { Event } from "../../protocol/events/events.ts";
import { parseRequest } from "../../protocol/requests/parse.ts";
import type { Request } from "../../protocol/requests/requests.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Address } from "../../runtime/feeds.ts";
import { unprocessable } from "./wrong-field.ts";

/** Checks a request that a wire has made of its own, by the rules and limits of the native protocol. */
export function checkNative(request: Request): Request {
  const parsed = parseRequest(request);
  if (parsed.ok) return parsed.value.request;
  const { kind, message, issues } = parsed;
  if (kind === "too_large") throw new AgentError("too_large", message, { issues });
  throw unprocessable(issues);
}

/** A message that was said before the first request of a run, as `request_metadata.messages` has it. */
export type EarlierMessage = {
  readonly role: "user" | "assistant" | "system";
  readonly content: string;
};

/** The place of a request. */
export type RequestAddress = Extract<Address, { readonly kind: "request" }>;

/** The request with an id; undefined if there is none. */
export async function findRequest(runtime: Runtime, id: string): Promise<RequestAddress | undefined> {
  try {
    const address = await runtime.resolve(id);
    return address.kind === "request" ? address : undefined;
  } catch (thrown) {
    if (toAgentError(thrown).code === "not_found") return undefined;
    throw thrown;
  }
}

/**
 * Fails if a request began with another text. Its files were stored before, under other ids, so that only the texts are
 * compared. One that waits in a queue has not logged its text yet.
 */
export async function checkSameText(runtime: Runtime, known: RequestAddress, text: string): Promise<void> {
  const [first] = (await runtime.read(known, { after: 0, limit: 1 })).events;
  const event = first === undefined ? undefined : (JSON.parse(first) as Event);
  if (event?.type !== "RequestStarted" || event.input === text) return;
  throw new AgentError("conflict", `the id ${known.requestId} was used for another text`);
}
