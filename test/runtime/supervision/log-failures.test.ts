import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Event, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { Fenced } from "../../../src/ports/event-log.ts";
import { textsOf } from "../../agents/events.ts";
import { World } from "../world.ts";

const asked = "asked" as RequestId;
const chat = { type: "ChatRequest", input: "hello", request_id: asked } as const;

const echo = defineAgent({
  name: "echo",
  purpose: "Echoes, after a while.",
  async chat(input, turn) {
    await turn.text(`${input} `);
    await turn.sleep(1_000);
    await turn.text("again");
  },
});

test.each([false, true])(
  "a request whose acceptance failed is refused, and a retry of it runs once (written: %s)",
  async (written) => {
    const world = new World({ agents: [echo] });
    await world.runtime.ready();
    world.plan({ kind: "failure", written });
    await expect(world.ask("echo", chat)).rejects.toMatchObject({
      code: "unavailable",
      details: { retryAfterS: 1 },
    });
    await expect(world.ask("echo", chat)).rejects.toMatchObject({ code: "unavailable" });

    world.repair();
    await world.environment.advance(1_000);
    const { replayed } = await world.ask("echo", chat);
    await world.environment.advance(1_000);

    expect(replayed).toBe(written);
    const events = await world.events(asked);
    expect(textsOf(events)).toEqual(["hello ", "again"]);
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
  },
);

test.each([false, true])(
  "a turn whose commit failed is continued when the log can be written again (written: %s)",
  async (written) => {
    const world = new World({ agents: [echo] });
    world.plan({ kind: "failure", written, after: 1 });
    await world.ask("echo", chat);
    expect(world.runtime.health().log.writable).toBe(false);
    expect(textsOf(await world.events(asked))).toEqual(written ? ["hello "] : []);

    await world.environment.advance(10_000);
    world.repair();
    await world.environment.advance(1_000);
    await world.environment.advance(1_000);
    const events = await world.events(asked);
    expect(textsOf(events)).toEqual(["hello ", "again"]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "hello again" });
  },
);

test("while the log cannot be written it can be read, and streams stay open", async () => {
  const world = new World({ agents: [echo] });
  const { runId } = await world.ask("echo", chat);
  world.plan({ kind: "failure", written: false });
  await world.environment.advance(1_000);

  const feed = await world.runtime.follow(await world.runtime.resolve(asked), { after: 0 });
  const seen: Event[] = [];
  const queries = (async () => {
    for await (const { events } of feed.pages) seen.push(...events.map((text) => JSON.parse(text) as Event));
  })();
  await world.environment.idle();
  expect(seen.map(({ type }) => type)).toEqual(["RequestStarted", "TextOutput"]);
  expect((await world.runtime.status(asked)).status).toBe("running");
  expect((await world.runtime.runs({ limit: 1 })).runs).toMatchObject([{ run_id: runId }]);

  world.repair();
  await world.environment.advance(2_000);
  await queries;
  expect(seen.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
});

test("a failed commit of one run does not affect the others", async () => {
  const world = new World({ agents: [echo] });
  const one = await world.ask("echo", { type: "ChatRequest", input: "one" });
  const two = await world.ask("echo", { type: "ChatRequest", input: "two" });
  world.plan({ kind: "failure", written: true });
  await world.environment.advance(1_000);
  world.repair();
  await world.environment.advance(3_000);
  for (const { requestId } of [one, two]) {
    expect((await world.events(requestId)).at(-1)).toMatchObject({ finish_reason: "success" });
  }
});

test("an answer whose commit failed can be repeated and counts once", async () => {
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks.",
    async chat(_input, turn) {
      const { name } = await turn.waitForInput({ name: "Your name?" });
      return name as string;
    },
  });
  for (const written of [false, true]) {
    const world = new World({ agents: [asker] });
    await world.ask("asker", chat);
    world.plan({ kind: "failure", written });
    const answer = {
      type: "ResumeWithInput",
      request_id: asked,
      request_keys: { name: "Ann" },
      resume_id: "r1",
    } as const;
    await expect(world.ask("asker", answer)).rejects.toMatchObject({ code: "unavailable" });
    world.repair();
    await world.environment.advance(1_000);
    await expect(world.ask("asker", answer)).resolves.toMatchObject({ replayed: written });
    expect((await world.events(asked)).at(-1)).toMatchObject({ result: "Ann" });
  }
});

test.each([false, true])(
  "a fork whose commit failed is refused as unavailable, and can be repeated (written: %s)",
  async (written) => {
    const world = new World({ agents: [echo] });
    const { runId } = await world.ask("echo", chat);
    await world.environment.advance(1_000);
    const [end] = (await world.events(asked)).slice(-1);
    const fork = async (): Promise<RunId> => {
      const forking = world.runtime.fork(runId as RunId, { after: end?.id ?? 0 });
      forking.catch(() => {});
      await world.environment.idle();
      return forking;
    };
    world.plan({ kind: "failure", written });
    await expect(fork()).rejects.toMatchObject({ code: "unavailable" });

    world.repair();
    await world.environment.advance(1_000);
    const texts = textsOf(await world.events(await fork()));
    expect(texts).toEqual(["hello ", "again"]);
  },
);

test("a run that another owner has claimed is recovered alone", async () => {
  const world = new World({ agents: [echo] });
  await world.ask("echo", chat);
  const other = "other" as RequestId;
  const { runId } = await world.ask("echo", { ...chat, request_id: other });
  await world.log.claim(runId as RunId);

  const { recoveries } = world;
  await world.environment.advance(1_000);
  expect(world.faults).toEqual([`run ${runId} was unloaded because another owner has claimed it: undefined`]);
  expect((await world.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(textsOf(await world.events(other))).toEqual(["hello "]);

  await world.environment.advance(1_000);
  expect((await world.events(other)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(world.recoveries).toBe(recoveries);
});

test("a log that gives no run away refuses requests for later", async () => {
  const log = memoryLog();
  const runtime = createRuntime({
    agents: [echo],
    log: { ...log, claim: () => Promise.reject(new Fenced("another process has opened the log")) },
  });
  await expect(runtime.process("echo", chat)).rejects.toMatchObject({ code: "unavailable" });
  await runtime.close();
});
