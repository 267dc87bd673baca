import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import type { Event, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { watchedLog } from "../watched-log.ts";

const notes = defineAgent({
  name: "notes",
  purpose: "Lists what it was told in this run.",
  chat(input, turn) {
    const list = [...((turn.memory.get() ?? []) as readonly string[]), input];
    turn.memory.set(list);
    return list.join(",");
  },
});

async function chat(
  runtime: Runtime,
  input: string,
  runId?: RunId,
): Promise<Event & { type: "RequestCompleted" }> {
  const request = { type: "ChatRequest", input, ...(runId !== undefined && { run_id: runId }) } as const;
  const receipt = await runtime.process("notes", request);
  const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  return JSON.parse(end ?? "") as Event & { type: "RequestCompleted" };
}

async function history(runtime: Runtime, runId: RunId): Promise<readonly Event[]> {
  const page = await runtime.read(await runtime.resolve(runId), { after: 0 });
  return page.events.map((text) => JSON.parse(text) as Event);
}

test("a fork continues from its point and does not change the original run", async () => {
  const runtime = createRuntime({ agents: [notes] });
  const first = await chat(runtime, "one");
  const second = await chat(runtime, "two", first.run_id);
  await chat(runtime, "three", first.run_id);
  const before = await history(runtime, first.run_id);

  const forked = await runtime.fork(first.run_id, { after: second.id });
  const other = await chat(runtime, "four", forked);

  expect(other.result).toBe("one,two,four");
  expect(await history(runtime, first.run_id)).toEqual(before);
  const copied = (await history(runtime, forked)).slice(0, second.id);
  expect(copied).toEqual(
    before
      .slice(0, second.id)
      .map((event) => ({ ...event, run_id: forked, forked_from: { run_id: first.run_id, id: event.id } })),
  );
  const { runs } = await runtime.runs({ limit: 10 });
  expect(runs.find(({ run_id }) => run_id === forked)).toMatchObject({
    agent: "notes",
    turns: 3,
    forked_from: { run_id: first.run_id, id: second.id },
  });
  await runtime.close();
});

test("a fork of a fork names the run it was forked from", async () => {
  const runtime = createRuntime({ agents: [notes] });
  const first = await chat(runtime, "one");
  const fork = await runtime.fork(first.run_id, { after: first.id });
  const again = await runtime.fork(fork, { after: first.id });
  const [started] = await history(runtime, again);
  expect(started).toMatchObject({ run_id: again, forked_from: { run_id: fork, id: 1 } });
  await runtime.close();
});

test("a fork is forked at each end of a turn that it has copied, also when the first run is gone", async () => {
  const runtime = createRuntime({ agents: [notes] });
  const first = await chat(runtime, "one");
  const second = await chat(runtime, "two", first.run_id);
  const third = await chat(runtime, "three", first.run_id);
  const fork = await runtime.fork(first.run_id, { after: third.id });
  await runtime.removeRun(first.run_id);
  const again = await runtime.fork(fork, { after: second.id });
  expect((await chat(runtime, "four", again)).result).toBe("one,two,four");
  const atEnd = await runtime.fork(fork, { after: third.id });
  expect((await chat(runtime, "four", atEnd)).result).toBe("one,two,three,four");
  const thrice = await runtime.fork(again, { after: first.id });
  expect((await chat(runtime, "four", thrice)).result).toBe("one,four");
  await runtime.close();
});

test("a run forked at its start has no history", async () => {
  const runtime = createRuntime({ agents: [notes] });
  const first = await chat(runtime, "one");
  const fork = await runtime.fork(first.run_id, { after: 0 });
  expect(await history(runtime, fork)).toEqual([]);
  expect((await chat(runtime, "two", fork)).result).toBe("two");
  await runtime.close();
});

test("a run can be forked only where a turn has ended", async () => {
  const runtime = createRuntime({ agents: [notes] });
  const { run_id: runId, id } = await chat(runtime, "one");
  await expect(runtime.fork(runId, { after: 1 })).rejects.toMatchObject({ code: "conflict" });
  await expect(runtime.fork(runId, { after: id + 1 })).rejects.toMatchObject({ code: "conflict" });
  await expect(runtime.fork("run_unknown", { after: 0 })).rejects.toMatchObject({
    code: "not_found",
  });
  await runtime.close();
});

test("a request id still refers to the run in which it was made", async () => {
  const runtime = createRuntime({ agents: [notes] });
  const first = await chat(runtime, "one");
  await runtime.fork(first.run_id, { after: first.id });
  const status = await runtime.status(first.request_id ?? "");
  expect(status.run_id).toBe(first.run_id);
  await runtime.close();
});

// The first page shows whether the fork point is valid.
test.each([
  ["before its history is read", 2],
  ["before it is read what its agents remember", 3],
])("a fork of a run that is removed during the fork, %s, is refused as gone", async (_, page) => {
  let beforeRead = async (): Promise<void> => {};
  const log = watchedLog({ read: () => beforeRead() });
  const runtime = createRuntime({ agents: [notes], log });
  const { id, run_id: runId } = await chat(runtime, "one");
  let reads = 0;
  beforeRead = async () => {
    reads += 1;
    if (reads === page) await runtime.removeRun(runId);
  };
  await expect(runtime.fork(runId, { after: id })).rejects.toMatchObject({ code: "gone" });
  // Nothing of the copy remains.
  expect((await log.list({ limit: 10 })).runs).toEqual([]);
  await runtime.close();
});

test("a fork takes the key of its run, whose requests then go on in the fork, also when it is forked again", async () => {
  const log = { ...memoryLog(), close: async () => {} };
  const before = createRuntime({ agents: [notes], log });
  const say = async (runtime: Runtime, input: string): Promise<Event & { type: "RequestCompleted" }> => {
    const receipt = await runtime.process("notes", { type: "ChatRequest", input, key: "desk" });
    const end = await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
    return JSON.parse(end ?? "") as Event & { type: "RequestCompleted" };
  };
  const first = await say(before, "one");
  const second = await say(before, "two");
  const forked = await before.fork(first.run_id, { after: first.id }, { takesKey: true });
  expect(await before.find("notes", "desk")).toBe(forked);
  expect((await before.run(first.run_id)).key).toBeUndefined();
  expect(await say(before, "three")).toMatchObject({ run_id: forked, result: "one,three" });
  expect((await chat(before, "old", first.run_id)).result).toBe("one,two,old");
  await expect(before.fork(first.run_id, { after: second.id }, { takesKey: true })).rejects.toMatchObject({
    code: "conflict",
  });
  await before.close();

  const after = createRuntime({ agents: [notes], log });
  const again = await after.fork(forked, { after: 0 }, { takesKey: true });
  expect(await say(after, "four")).toMatchObject({ run_id: again, result: "four" });
  // All of what the key has named is erased with it.
  await chat(after, "another");
  expect(await after.erase({ agent: "notes", key: "desk" })).toBe(3);
  expect((await after.runs({ limit: 10 })).runs).toHaveLength(1);
  await after.close();
});
