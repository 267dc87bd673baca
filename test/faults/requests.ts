import { TALKERS } from "../laws/talkers.ts";
import type { Random } from "../../src/testing/event-log/random.ts";
import { LAST_LINE } from "./server/actor-agents.ts";

/** A message, or an operation for a state machine. */
export type Mail = { readonly request_id: string } & (
  | { readonly type: "Message"; readonly key: string; readonly name: string; readonly body: string }
  | {
      readonly type: "OperationRequest";
      readonly key: string;
      readonly operation: string;
      readonly input: object;
    }
);

/** The request that starts a turn of an agent. Talkers share a few runs, and a counter counts in its earlier run. */
export function toRequest(
  agent: string,
  requestId: string,
  { run, random }: { readonly run: string | undefined; readonly random: Random },
): object {
  if (agent === "talker") {
    const input = { program: random.below(1_000_000), depth: 1 + random.below(2) };
    const key = TALKERS[random.below(TALKERS.length)];
    return { type: "OperationRequest", operation: "talk", input, key, request_id: requestId };
  }
  const place = agent === "counter" && run !== undefined ? { run_id: run } : {};
  // What is sent beside the request finds its run by this key.
  const key = toMail(agent, requestId).length > 0 ? { key: requestId } : {};
  return { type: "ChatRequest", input: requestId, request_id: requestId, ...place, ...key };
}

/** What a client sends to the run of a turn while it is open: lines for a listener, items for a state machine. */
export function toMail(agent: string, requestId: string): readonly Mail[] {
  const at = (number: number) => ({ key: requestId, request_id: `${requestId}-${number}` });
  if (agent === "listener") {
    return [1, 2, 3, 4].map((number) => ({
      type: "Message",
      name: "line",
      body: number === 4 ? LAST_LINE : `line ${number}`,
      ...at(number),
    }));
  }
  if (agent !== "collector") return [];
  return [1, 2, 3].map((number) => ({
    type: "OperationRequest",
    operation: "add",
    input: { item: `item ${number}` },
    ...at(number),
  }));
}
