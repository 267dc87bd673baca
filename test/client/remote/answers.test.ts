import { createRuntime, memoryLog } from "troupe";
import { remoteAgent } from "troupe/client";
import type { Event, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { toEncoded } from "../../../src/protocol/events/texts.ts";

/** A server whose agent asks once or twice, with hooks around each answer. */
function farSide(asks: 1 | 2, looked: () => Promise<void>): typeof fetch {
  const events: object[] = [];
  let status = "waiting";
  const say = (event: object): void => void events.push({ id: events.length + 1, depth: 0, ...event });
  say({ type: "RequestStarted" });
  say({ type: "WaitForInput", wait_id: 2, request_keys: { first: "First?" } });
  return async (url, { body, headers } = {}) => {
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    const { type, wait_id: waitId } = JSON.parse((body ?? "{}") as string) as Record<string, unknown>;
    if (pathname.endsWith("/process") && type === "ResumeWithInput") {
      say({ type: "ResumeWithInput", wait_id: waitId, request_keys: {} });
      if (waitId === 2 && asks === 2)
        say({ type: "WaitForInput", wait_id: 4, request_keys: { second: "Second?" } });
      else {
        say({ type: "TextOutput", content: "after the answer" });
        say({ type: "RequestCompleted", finish_reason: "success", result: null, output: null });
        status = "completed";
      }
    }
    if (pathname.endsWith("/process")) return Response.json({ request_id: "far_1", run_id: "far_run" });
    if (pathname.endsWith("/request/far_1")) {
      const standing = { status, last_event_id: events.length };
      // The status is true when it is sent, and may be outdated when it is received.
      await looked();
      return Response.json(asks === 2 ? standing : { status, last_event_id: events.length });
    }
    if (!pathname.includes("/getevents/")) return Response.json({ operations: [] });
    const after = Number(new Headers(headers).get("last-event-id") ?? 0);
    const frames = events.slice(after).map((event) => `data: ${JSON.stringify(event)}\n\n`);
    return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
  };
}

test.each([1, 2] as const)(
  "an answer to the last of %d questions is not lost on the way to a remote agent",
  async (asks) => {
    const requestId = "req_1" as RequestId;
    const log = memoryLog();
    const fetch = farSide(asks, async () => {
      const events = await eventsOf();
      const [wait, ...others] = events.filter((event) => event.type === "WaitForInput").toReversed();
      const answers = events.filter((event) => event.type === "ResumeWithInput");
      if (wait === undefined || answers.length > others.length) return;
      const [key = ""] = Object.keys(wait.request_keys);
      const answer = { request_id: requestId, wait_id: wait.id, request_keys: { [key]: "yes" } };
      await runtime.process("far", { type: "ResumeWithInput", ...answer });
    });
    const runtime = createRuntime({ agents: [remoteAgent("http://far/far", { fetch })], log });
    const receipt = await runtime.process("far", { type: "ChatRequest", input: "go", request_id: requestId });
    const eventsOf = async (): Promise<readonly Event[]> => {
      const run = await log.lookup(requestId);
      const { events } = run ? await log.read(run.runId, { after: 0 }) : { events: [] };
      return toEncoded(events).map((text) => JSON.parse(text) as Event);
    };
    const { pages } = await runtime.follow(await runtime.resolve(receipt.requestId), {
      after: 0,
      forever: true,
    });
    for await (const page of pages) if (page.events.some((text) => text.includes("RequestCompleted"))) break;

    expect(await eventsOf()).toContainEqual(expect.objectContaining({ content: "after the answer" }));
    expect((await eventsOf()).at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
    await runtime.close();
  },
);
