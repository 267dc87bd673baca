import type { ServerResponse } from "node:http";
import { createRuntime, defineAgent } from "troupe";
import type { AgentError } from "troupe";
import { remoteAgent } from "troupe/client";
import type { RemoteLimits } from "troupe/client";
import type { Event } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect } from "vitest";
import { ofType } from "../../../agents/events.ts";
import { hastyEnvironment } from "../../hasty.ts";
import { event, frame, open, startHostile, stream } from "../../hostile-server.ts";
import type { Handler, Routes } from "../../hostile-server.ts";

// The clock is fast here: these are milliseconds of that clock, mostly long even for a loaded machine.
export const limits = {
  acceptMs: 30_000,
  unreachableMs: 10_000,
  idleMs: 100_000,
  silenceMs: 100_000,
  answerMs: 10_000,
  cancelMs: 60_000,
  events: 1_000,
  eventBytes: 10_000,
  characters: 100_000,
};

export const started = event(1, "RequestStarted");

/** Limits for an agent that is alive but sends no events, and for one that sends nothing. */
export const impatient = { silenceMs: 2_000 };
export const lonely = { idleMs: 8_000, unreachableMs: 4_000 };

/** Limits for an agent that sends much, which a loaded machine takes long to read. */
export const patient = { acceptMs: 3_600_000, unreachableMs: 3_600_000 };

/**
 * Lets an agent call the one at a hostile server; the turn itself must end well, and other turns must work.
 */
export async function call(routes: Routes, special: Partial<RemoteLimits> = {}): Promise<readonly Event[]> {
  await using server = await startHostile(routes);
  const fiend = remoteAgent(server.url, { limits: { ...limits, ...special } });
  const caller = defineAgent({
    name: "caller",
    purpose: "Calls it.",
    async chat(input, turn) {
      try {
        await turn.text((await turn.call(fiend, "chat", { input })).output);
      } catch (error) {
        const { code, message } = error as AgentError;
        await turn.text(`${code}: ${message}`);
      }
    },
  });
  const calm = defineAgent({ name: "calm", purpose: "Is calm.", chat: () => "calm" });
  const environment = hastyEnvironment();
  const runtime = createRuntime({ agents: [caller, calm], limits: { artifactBytes: 100_000 }, environment });
  try {
    const [events, others] = await Promise.all([
      collect(runtime, "caller", { type: "ChatRequest", input: "hi" }),
      collect(runtime, "calm", { type: "ChatRequest", input: "hi" }),
    ]);
    expect(others.at(-1)).toMatchObject({ finish_reason: "success" });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
    return events;
  } finally {
    await runtime.close();
  }
}

/** Checks the guarantees of our log for a turn. */
export function checkOrder(events: readonly Event[]): void {
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  expect(ofType(events, "RequestStarted")).toHaveLength(1);
  expect(ofType(events, "RequestCompleted")).toHaveLength(1);
  const ends = [...ofType(events, "ToolResult"), ...ofType(events, "ToolError")].map(
    (end) => end.tool_call_id,
  );
  const calls = ofType(events, "ToolCall").filter(({ attempt = 1 }) => attempt === 1);
  expect(ends.toSorted()).toEqual(calls.map((call) => call.tool_call_id).toSorted());
  for (const { depth, parent_call_id: parent } of events) expect(parent !== undefined).toBe(depth > 0);
}

export function raw(text: string): Handler {
  return (response) => void open(response).end(text);
}

export function redirect(...[response]: Parameters<Handler>): void {
  response.writeHead(302, { location: "http://127.0.0.1:9/" });
  response.end();
}

/** Repeats the same data, with a pause in between. */
export function endless(text: string, pauseMs: number): Handler {
  return (response) => {
    open(response);
    const say = (): void => {
      if (response.destroyed) return;
      response.write(text, () => (pauseMs === 0 ? setImmediate(say) : setTimeout(say, pauseMs)));
    };
    say();
  };
}

/** Sends one new event after the other. */
export function counting(response: ServerResponse): void {
  open(response);
  let id = 1;
  const say = (): void => {
    if (response.destroyed) return;
    id += 1;
    response.write(frame(event(id, "TextOutput", { content: "more" })), () => setImmediate(say));
  };
  say();
}

export function opening(type: string, times: number): Handler {
  const open = Array.from({ length: times }, (_, index) =>
    event(index + 2, type, {
      function_name: "f",
      args: {},
      tool_call_id: `t${index}`,
      request_keys: { a: "?" },
    }),
  );
  return stream(started, ...open);
}

export function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}
