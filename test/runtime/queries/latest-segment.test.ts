import { createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import type { Event } from "troupe/protocol";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";

const asker = defineAgent({
  name: "asker",
  purpose: "Asks once.",
  async chat(_input, turn) {
    await turn.text("before");
    await turn.waitForInput({ go: "Go on?" });
    await turn.text("after");
  },
});

/** The first event of a stream by run id that has no cursor. */
async function firstOf(runtime: Runtime, runId: string): Promise<Event> {
  const abort = new AbortController();
  const { pages } = await runtime.follow(await runtime.resolve(runId), {
    forever: true,
    signal: abort.signal,
  });
  for await (const { events } of pages) {
    const [text] = events;
    if (text === undefined) continue;
    abort.abort();
    return JSON.parse(text) as Event;
  }
  throw new Error("the stream has no event");
}

async function upload(runtime: Runtime, runId: string): Promise<void> {
  const body = new Blob(["notes"]).stream();
  await runtime.upload({ name: "notes.txt", mimeType: "text/plain", limitBytes: 100, runId, body });
}

test("a stream by run id starts at the segment of the latest request, also after uploads to the run", async () => {
  const runtime = createRuntime({ agents: [echo] });
  const [first] = await collect(runtime, "echo", { type: "ChatRequest", input: "one" });
  const run_id = first?.run_id ?? "";
  const [second] = await collect(runtime, "echo", { type: "ChatRequest", input: "two", run_id });
  await upload(runtime, run_id);
  await upload(runtime, run_id);

  expect(await firstOf(runtime, run_id)).toEqual(second);
  expect(second).toMatchObject({ type: "RequestStarted", input: "two" });
  await runtime.close();
});

test("a stream of a run that waits starts at its open question's segment after an upload", async () => {
  const runtime = createRuntime({ agents: [asker] });
  const events = await collect(runtime, "asker", { type: "ChatRequest", input: "" });
  const [first] = events;
  const run_id = first?.run_id ?? "";
  const before = await firstOf(runtime, run_id);
  for (let count = 0; count < 3; count += 1) await upload(runtime, run_id);
  expect(await firstOf(runtime, run_id)).toEqual(before);
  await runtime.close();
});

test("a stream of a run without a turn starts at its first event", async () => {
  const runtime = createRuntime({ agents: [echo] });
  const runId = await runtime.createRun("echo", {});
  await upload(runtime, runId);
  expect(await firstOf(runtime, runId)).toMatchObject({ id: 1, type: "RunCreated" });
  await runtime.close();
});

test("a stream of a fork starts at its latest turn, also when its source is removed", async () => {
  const runtime = createRuntime({ agents: [echo] });
  const [first] = await collect(runtime, "echo", { type: "ChatRequest", input: "one" });
  const run_id = first?.run_id ?? "";
  const second = await collect(runtime, "echo", { type: "ChatRequest", input: "two", run_id });
  const fork = await runtime.fork(run_id, { after: second.at(-1)?.id ?? 0 });
  const wanted = { id: second[0]?.id, type: "RequestStarted", input: "two", run_id: fork };
  expect(await firstOf(runtime, fork)).toMatchObject(wanted);
  await upload(runtime, fork);
  await runtime.removeRun(run_id);
  expect(await firstOf(runtime, fork)).toMatchObject(wanted);
  await runtime.close();
});
