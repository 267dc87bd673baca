import { createRuntime, defineAgent } from "troupe";
import type { Agent, Runtime } from "troupe";
import type { Event } from "troupe/protocol";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { interviewer } from "../../agents/interviewer.ts";
import { project } from "../../src/view/fold.ts";
import { RunReader } from "../../src/view/run-reader.ts";
import { filesOf, segmentsOf, textOf } from "../../src/view/segments.ts";
import type { Segment } from "../../src/view/segments.ts";

const maker = defineAgent({
  name: "maker",
  purpose: "Asks for a word, then makes a file of it.",
  async chat(input, turn) {
    await turn.text(`about ${input}: `);
    const { word } = await turn.waitForInput(z.object({ word: z.string() }));
    await turn.artifact({ name: "word.txt", mimeType: "text/plain", data: word });
    await turn.text(word);
  },
});

function start(agents: readonly Agent[]): Runtime {
  const runtime = createRuntime({ agents });
  onTestFinished(() => runtime.close());
  return runtime;
}

/** Sends a request and waits until it is completed or parked. */
async function ask(runtime: Runtime, agent: string, request: Parameters<Runtime["process"]>[1]) {
  const receipt = await runtime.process(agent, request);
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  return { requestId: receipt.requestId, runId: receipt.runId ?? "" };
}

const shown = ({ id, parts, waits, end, isAnswered, answer }: Segment): unknown => ({
  id,
  text: textOf(parts),
  waits: waits.map(({ waitId }) => waitId),
  end: end?.outcome,
  isAnswered,
  ...(answer && { answer: answer.values }),
});

test("a request has a segment for its start and one for each answer", async () => {
  const runtime = start([maker]);
  const reader = new RunReader(runtime);
  const { runId, requestId } = await ask(runtime, "maker", { type: "ChatRequest", input: "art" });
  const first = await reader.read(runId);
  expect(first.isWaiting).toBe(true);
  expect(segmentsOf(first.view).map(shown)).toEqual([
    { id: 1, text: "about art: ", waits: [3], end: undefined, isAnswered: false },
  ]);
  await ask(runtime, "maker", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: { word: "moon" },
  });
  const { view, isWaiting: isParked, run } = await reader.read(runId);
  expect(isParked).toBe(false);
  expect(run).toMatchObject({ status: "idle", agent: "maker" });
  expect(segmentsOf(view).map(shown)).toEqual([
    { id: 1, text: "about art: ", waits: [3], end: undefined, isAnswered: true },
    { id: 4, text: "moon", waits: [], end: "success", isAnswered: false, answer: { word: "moon" } },
  ]);
  const [started, answered] = segmentsOf(view);
  expect(started?.turn).toMatchObject({ operation: "chat", input: "art", requestId });
  expect(filesOf(answered?.parts ?? [])).toMatchObject([
    { name: "word.txt", isGenerated: true, sizeBytes: 4 },
  ]);
  expect(answered?.end).toMatchObject({ outcome: "success", result: "about art: moon" });
});

test("an answer to one of two waits parks the run again, although it asks nothing new", async () => {
  const runtime = start([interviewer]);
  const reader = new RunReader(runtime);
  const { runId, requestId } = await ask(runtime, "interviewer", { type: "ChatRequest", input: "" });
  const [name, colour] = segmentsOf((await reader.read(runId)).view)[0]?.waits ?? [];
  const resume = (waitId: number | undefined, values: Record<string, string>) =>
    ask(runtime, "interviewer", {
      type: "ResumeWithInput",
      request_id: requestId,
      wait_id: waitId ?? 0,
      request_keys: values,
    });
  await resume(colour?.waitId, { colour: "red" });
  const half = await reader.read(runId);
  expect(half.isWaiting).toBe(true);
  expect(segmentsOf(half.view).map(({ waits }) => waits.map(({ questions }) => questions))).toEqual([
    [name?.questions, colour?.questions],
    [name?.questions],
  ]);
  await resume(name?.waitId, { name: "Ada" });
  const whole = await reader.read(runId);
  expect(whole.isWaiting).toBe(false);
  expect(segmentsOf(whole.view).map(shown).at(-1)).toMatchObject({ text: "Ada likes red.", waits: [] });
});

test("a request that is canceled in the queue has its own segment, in the middle of another one's", async () => {
  const runtime = start([maker]);
  const { runId, requestId } = await ask(runtime, "maker", { type: "ChatRequest", input: "a" });
  const queued = await runtime.process("maker", {
    type: "ChatRequest",
    input: "b",
    run_id: runId,
    on_busy: "enqueue",
  });
  await runtime.process("maker", { type: "CancelRequest", request_id: queued.requestId });
  await ask(runtime, "maker", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys: { word: "x" },
  });
  const { view } = await new RunReader(runtime).read(runId);
  const segmentsIn = (id: string): unknown =>
    segmentsOf(view).flatMap((segment) => (segment.turn.requestId === id ? [shown(segment)] : []));
  expect(view.turns.map((turn) => [turn.requestId, segmentsIn(turn.requestId)])).toEqual([
    [
      requestId,
      [
        { id: 1, text: "about a: ", waits: [3], end: undefined, isAnswered: true },
        expect.objectContaining({ text: "x", end: "success" }),
      ],
    ],
    [queued.requestId, [expect.objectContaining({ text: "", end: "canceled", waits: [] })]],
  ]);
});

test("the waits of a call that has ended are closed", async () => {
  const hasty = defineAgent({
    name: "hasty",
    purpose: "Asks, and does not wait for the answer.",
    async chat(_input, turn) {
      turn.waitForInput({ word: "A word?" }).catch(() => {});
      await turn.text("early");
    },
  });
  const patient = defineAgent({
    name: "patient",
    purpose: "Calls an agent, then asks.",
    uses: { hasty },
    async chat(_input, turn) {
      await turn.call(hasty, "chat", { input: "" });
      await turn.waitForInput({ stop: "Stop?" });
    },
  });
  const runtime = start([patient]);
  const { runId, requestId } = await ask(runtime, "patient", { type: "ChatRequest", input: "" });
  const { view } = await new RunReader(runtime).read(runId);
  const status = await runtime.status(requestId);
  const [wait, ...others] = segmentsOf(view)[0]?.waits ?? [];
  expect(wait).toMatchObject({ waitId: status.wait_id, questions: { stop: "Stop?" } });
  expect(others).toEqual([]);
  const { events } = await runtime.read({ kind: "run", runId, agent: "patient" }, { after: 0 });
  expect(events.filter((text) => text.includes('"type":"WaitForInput"'))).toHaveLength(2);
});

test("files of clients, and what a run was created with, are part of it", async () => {
  const runtime = start([maker]);
  const runId = await runtime.createRun("maker", { input: "hi", metadata: { user: "ada" } });
  const body = new Blob(["hello"]).stream();
  await runtime.upload({ name: "a.txt", mimeType: "text/plain", body, limitBytes: 100, runId });
  const { view, run } = await new RunReader(runtime).read(runId);
  expect(view.created).toEqual({ input: "hi", metadata: { user: "ada" } });
  expect(run.metadata).toEqual({ user: "ada" });
  expect(view.files).toMatchObject([{ name: "a.txt", isGenerated: false, sizeBytes: 5, eventId: 2 }]);
  expect(segmentsOf(view)).toEqual([]);
});

test("a reader continues from its cursor, and keeps a limited number of runs", async () => {
  const runtime = start([maker]);
  let events = 0;
  const read: Runtime["read"] = async (address, options) => {
    const page = await runtime.read(address, options);
    events += page.events.length;
    return page;
  };
  const reader = new RunReader({ ...runtime, read }, { runs: 2 });
  const { runId } = await ask(runtime, "maker", { type: "ChatRequest", input: "a" });
  await Promise.all([reader.read(runId), reader.read(runId), reader.read(runId)]);
  expect(events).toBe(3);
  for (const input of ["b", "c"]) {
    const other = await ask(runtime, "maker", { type: "ChatRequest", input });
    await reader.read(other.runId);
  }
  expect(reader.size).toBe(2);
  await reader.read(runId);
  expect(events).toBe(12);
});

test("a removed run is gone for the reader, also one that it has read before", async () => {
  const runtime = start([maker]);
  const reader = new RunReader(runtime);
  const runId = await runtime.createRun("maker", {});
  await reader.read(runId);
  await runtime.removeRun(runId);
  await expect(reader.read(runId)).rejects.toMatchObject({ code: "gone" });
  await expect(reader.read("run_none")).rejects.toMatchObject({ code: "not_found" });
  expect(reader.size).toBe(0);
});

test("the state is the same however the events are read", async () => {
  const runtime = start([interviewer]);
  const { runId, requestId } = await ask(runtime, "interviewer", { type: "ChatRequest", input: "" });
  await ask(runtime, "interviewer", {
    type: "ResumeWithInput",
    request_id: requestId,
    wait_id: 3,
    request_keys: { colour: "red" },
  });
  const address = { kind: "run", runId, agent: "interviewer" } as const;
  const { events } = await runtime.read(address, { after: 0 });
  const reader = new RunReader(runtime);
  const { view } = await reader.read(runId);
  const parsed = events.map((text) => JSON.parse(text) as Event);
  expect(segmentsOf(project(parsed)).map(shown)).toEqual(segmentsOf(view).map(shown));
});
