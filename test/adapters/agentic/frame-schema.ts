import { z } from "zod";

const text = z.string();
const call = z.strictObject({ name: text, arguments: z.record(text, z.json()), tool_call_id: text });
const result = z.strictObject({ name: text, result: z.json(), is_log: z.boolean(), tool_call_id: text });
const said = z.strictObject({ role: z.literal("assistant"), content: text });

/** The payload of each event, as the classes of the dialect make it and its page reads it. Those of calls of agents are as of tools. */
const payloads = {
  prompt_started: z.strictObject({ content: text }),
  completion_start: z.strictObject({}),
  completion_end: z.strictObject({ usage: z.record(text, z.json()), metadata: z.record(text, z.json()) }),
  chat_output: said,
  reasoning_content: z.strictObject({ reasoning_content: text }),
  tool_call: call,
  subagent_call: call,
  tool_result: result,
  subagent_result: result,
  tool_error: z.strictObject({ name: text, error: text, tool_call_id: text }),
  wait_for_input: z.record(text, text),
  resume_with_input: z.record(text, z.json()),
  turn_end: z.strictObject({
    messages: z.array(said),
    error: z.looseObject({ code: text, message: text }).exactOptional(),
  }),
  turn_cancelled: z.strictObject({}),
};

/** An event of the dialect. */
const frame = z.union(
  Object.entries(payloads).map(([type, payload]) =>
    z.looseObject({ type: z.literal(type), agent: text, depth: z.int().min(0), payload }),
  ),
);

/** Throws for what is no event of the dialect. */
export function checkFrame(data: unknown): void {
  frame.parse(data);
}
