import type { Answer } from "./provider-server.ts";

/** Answers in the words of their providers, with the usage that they bill. */

export function openAiChat(usage: object): Answer {
  const chunk = {
    id: "chatcmpl-Cb3Y",
    object: "chat.completion.chunk",
    created: 1_764_300_000,
    model: "gpt-5-mini-2025-08-07",
  };
  return {
    events: [
      { ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: { content: "Paid." }, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { ...chunk, choices: [], usage },
    ],
  };
}

export function openAiResponses(usage: object, more: object = {}): Answer {
  const response = {
    id: "resp_0a1",
    object: "response",
    created_at: 1_764_300_000,
    model: "gpt-5-mini",
    ...more,
  };
  const item = { id: "msg_1", type: "message", role: "assistant" };
  return {
    events: [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      {
        type: "response.output_text.delta",
        item_id: "msg_1",
        output_index: 0,
        content_index: 0,
        delta: "Paid.",
      },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...item, content: [{ type: "output_text", text: "Paid.", annotations: [] }] },
      },
      { type: "response.completed", response: { ...response, status: "completed", output: [], usage } },
    ],
  };
}

export function anthropic(
  usage: object,
  output: { readonly first: number; readonly last: number; readonly breaks?: boolean },
): Answer {
  const begun = [
    {
      type: "message_start",
      message: {
        id: "msg_01Xk",
        type: "message",
        role: "assistant",
        model: "claude-sonnet-4-5-20250929",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...usage, output_tokens: output.first, service_tier: "standard" },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "ping" },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Pai" } },
  ];
  if (output.breaks === true) return { events: begun, breaks: true };
  return {
    events: [
      ...begun,
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "d." } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: output.last },
      },
      { type: "message_stop" },
    ],
  };
}

export function google(usages: readonly object[], breaks = false): Answer {
  const events = usages.map((usageMetadata, index) => ({
    candidates: [
      {
        content: { role: "model", parts: [{ text: index === 0 ? "Pai" : "d." }] },
        index: 0,
        ...(!breaks && index === usages.length - 1 && { finishReason: "STOP" }),
      },
    ],
    usageMetadata,
    modelVersion: "gemini-2.5-pro",
    responseId: "k2Ep",
  }));
  return { events, breaks };
}

export function xai(usage: object): Answer {
  const chunk = { id: "c2f1", object: "chat.completion.chunk", created: 1_764_300_000, model: "grok-4.6" };
  return {
    events: [
      { ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "Paid." } }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
    ],
  };
}
