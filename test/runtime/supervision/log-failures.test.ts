import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Event, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { AgentError } from "../../../src/errors.ts";
import { Fenced } from "../../../src/ports/event-log.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { noTelemetry } from "../../../src/runtime/options.ts";
import { textsOf } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

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
    const host = new TestHost({ agents: [echo] });
    await host.runtime.ready();
    host.planFault({ kind: "failure", written });
    await expect(host.ask("echo", chat)).rejects.toMatchObject({
      code: "unavailable",
      details: { retryAfterS: 1 },
    });
    await expect(host.ask("echo", chat)).rejects.toMatchObject({ code: "unavailable" });

    host.repair();
    await host.environment.advance(1_000);
    const { replayed } = await host.ask("echo", chat);
    await host.environment.advance(1_000);

    expect(replayed).toBe(written);
    const events = await host.events(asked);
    expect(textsOf(events)).toEqual(["hello ", "again"]);
    expect(events.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5]);
  },
);

test.each([false, true])(
  "a turn whose commit failed is continued when the log can be written again (written: %s)",
  async (written) => {
    const host = new TestHost({ agents: [echo] });
    host.planFault({ kind: "failure", written, after: 1 });
    await host.ask("echo", chat);
    expect(host.runtime.health().log.writable).toBe(false);
    expect(textsOf(await host.events(asked))).toEqual(written ? ["hello "] : []);

    await host.environment.advance(10_000);
    host.repair();
    await host.environment.advance(1_000);
    await host.environment.advance(1_000);
    const events = await host.events(asked);
    expect(textsOf(events)).toEqual(["hello ", "again"]);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "hello again" });
  },
);

test("a turn whose run cannot be loaded at the start is continued when it can", async () => {
  const host = new TestHost({ agents: [echo] });
  await host.ask("echo", chat);
  host.failClaims(3);
  await host.restart();
  expect((await host.events(asked)).at(-1)).toMatchObject({ type: "Sleeping" });
  await host.environment.advance(10_000);
  await host.environment.advance(1_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "hello again" });
  expect(host.faults.filter((fault) => fault.includes("could not be recovered"))).toHaveLength(3);
});

test("while the log cannot be written it can be read, and streams stay open", async () => {
  const host = new TestHost({ agents: [echo] });
  const { runId } = await host.ask("echo", chat);
  host.planFault({ kind: "failure", written: false });
  await host.environment.advance(1_000);

  const feed = await host.runtime.follow(await host.runtime.resolve(asked), { after: 0 });
  const seen: Event[] = [];
  const queries = (async () => {
    for await (const { events } of feed.pages) seen.push(...events.map((text) => JSON.parse(text) as Event));
  })();
  await host.environment.idle();
  expect(seen.map(({ type }) => type)).toEqual(["RequestStarted", "TextOutput", "Sleeping"]);
  expect((await host.runtime.status(asked)).status).toBe("running");
  expect((await host.runtime.runs({ limit: 1 })).runs).toMatchObject([{ run_id: runId }]);

  host.repair();
  await host.environment.advance(2_000);
  await queries;
  expect(seen.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
});

test("a failed commit of one run does not affect the others", async () => {
  const host = new TestHost({ agents: [echo] });
  const one = await host.ask("echo", { type: "ChatRequest", input: "one" });
  const two = await host.ask("echo", { type: "ChatRequest", input: "two" });
  host.planFault({ kind: "failure", written: true });
  await host.environment.advance(1_000);
  host.repair();
  await host.environment.advance(3_000);
  for (const { requestId } of [one, two]) {
    expect((await host.events(requestId)).at(-1)).toMatchObject({ finish_reason: "success" });
  }
});

test.each([false, true])(
  "a configuration whose commit failed holds if the log has it, without a restart (written: %s)",
  async (written) => {
    const shown = defineAgent({
      name: "shown",
      purpose: "Says its configuration.",
      chat: (_input, turn) => JSON.stringify(turn.config),
    });
    const host = new TestHost({ agents: [shown] });
    await host.runtime.ready();
    host.planFault({ kind: "failure", written });
    const configured = host.ask("shown", { type: "ConfigureRequest", args: { level: 2 } });
    await expect(configured).rejects.toMatchObject({ code: "unavailable" });

    host.repair();
    await host.environment.advance(1_000);
    await host.ask("shown", chat);
    expect((await host.events(asked)).at(-1)).toMatchObject({ result: written ? '{"level":2}' : "{}" });
  },
);

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
    const host = new TestHost({ agents: [asker] });
    await host.ask("asker", chat);
    host.planFault({ kind: "failure", written });
    const answer = {
      type: "ResumeWithInput",
      request_id: asked,
      request_keys: { name: "Ann" },
      resume_id: "r1",
    } as const;
    await expect(host.ask("asker", answer)).rejects.toMatchObject({ code: "unavailable" });
    host.repair();
    await host.environment.advance(1_000);
    await expect(host.ask("asker", answer)).resolves.toMatchObject({ replayed: written });
    expect((await host.events(asked)).at(-1)).toMatchObject({ result: "Ann" });
  }
});

test.each([false, true])(
  "a fork whose commit failed is refused as unavailable, and can be repeated (written: %s)",
  async (written) => {
    const host = new TestHost({ agents: [echo] });
    const { runId } = await host.ask("echo", chat);
    await host.environment.advance(1_000);
    const [end] = (await host.events(asked)).slice(-1);
    const fork = async (): Promise<RunId> => {
      const forking = host.runtime.fork(runId as RunId, { after: end?.id ?? 0 });
      forking.catch(() => {});
      await host.environment.idle();
      return forking;
    };
    host.planFault({ kind: "failure", written });
    await expect(fork()).rejects.toMatchObject({ code: "unavailable" });

    host.repair();
    await host.environment.advance(1_000);
    const texts = textsOf(await host.events(await fork()));
    expect(texts).toEqual(["hello ", "again"]);
  },
);

test("a run that another owner has claimed is recovered alone", async () => {
  const host = new TestHost({ agents: [echo] });
  await host.ask("echo", chat);
  const other = "other" as RequestId;
  const { runId } = await host.ask("echo", { ...chat, request_id: other });
  await host.log.claim(runId as RunId);

  const { recoveries } = host;
  await host.environment.advance(1_000);
  expect(host.moved).toEqual([`run ${runId} left memory: run ${runId} has another owner`]);
  expect(host.faults).toEqual([]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(textsOf(await host.events(other))).toEqual(["hello "]);

  await host.environment.advance(1_000);
  expect((await host.events(other)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(host.recoveries).toBe(recoveries);
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

test("a run whose batch the log refuses is unloaded with a report", async () => {
  const faults: string[] = [];
  const log = memoryLog();
  const refusing: EventLog = {
    ...log,
    append(cursor, batch) {
      if (!JSON.stringify(batch).includes("refused")) return log.append(cursor, batch);
      return Promise.reject(new AgentError("invalid_request", "this text cannot be stored"));
    },
  };
  const speaker = defineAgent({
    name: "speaker",
    purpose: "Says what the log refuses.",
    chat: (_input, turn) => turn.text("refused"),
  });
  const runtime = createRuntime({
    agents: [speaker],
    log: refusing,
    telemetry: { ...noTelemetry, fault: (message) => void faults.push(message) },
  });
  const { runId } = await runtime.process("speaker", { type: "ChatRequest", input: "" });
  await expect.poll(() => faults).toEqual([`run ${runId} left memory: this text cannot be stored`]);
  await runtime.close();
});
