import type { Event, EventType, Interrupt, TokenUsage } from "@ag-ui/core";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { WaitView } from "../../view/run-view.ts";
import { toQuestion } from "../../view/to-answer.ts";

/** An event of the protocol, with its type as a text. */
export type AgUiEvent = Event extends infer One
  ? One extends { type: EventType }
    ? Omit<One, "type"> & { readonly type: `${One["type"]}` }
    : never
  : never;

/** The version of the protocol that the events are of. */
export const PROTOCOL = "1.0";

/** A question as an interrupt. */
export function toInterrupt(
  wait: WaitView,
  id: string,
  place: Pick<Interrupt, "subagentRunId" | "toolCallId">,
): Interrupt {
  const { agent, question, approval, approvers, expiresAt } = wait;
  return {
    id,
    reason: "input_required",
    message: toQuestion(wait),
    ...place,
    ...(question === undefined && { responseSchema: toSchema(wait) }),
    ...(expiresAt !== undefined && { expiresAt }),
    metadata: {
      agent,
      ...(approval !== undefined && { approval }),
      ...(approvers && { approvers }),
    },
  };
}

function toSchema({ schema, questions }: WaitView): JsonObject {
  if (schema) return schema;
  const properties = Object.entries(questions).map(([key, description]) => [key, { description }] as const);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: Object.keys(questions),
    additionalProperties: false,
  };
}

/** What was used, for a model that the log does not name; empty if nothing was. */
export function toTokenUsage(usage: Usage): TokenUsage[] {
  const { input_tokens: input, output_tokens: output } = usage;
  const { cached_input_tokens: cached, reasoning_tokens: reasoning } = usage;
  const counts = {
    ...(input !== undefined && { inputTokens: input }),
    ...(output !== undefined && { outputTokens: output }),
    ...(input !== undefined && output !== undefined && { totalTokens: input + output }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    ...(cached !== undefined && { cachedInputTokens: cached }),
  };
  return Object.keys(counts).length === 0 ? [] : [counts];
}
