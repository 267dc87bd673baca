import { defineAgent, operation } from "troupe";
import type { Request } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

const worker = defineAgent({
  name: "worker",
  purpose: "Says what it is given.",
  messages: { note: z.object({ n: z.number() }) },
  operations: {
    hold: operation({ input: z.object({}), run: (_input, turn) => turn.sleep(1_000) }),
    job: operation({ input: z.object({ id: z.number() }), run: ({ id }) => id }),
    listen: operation({
      input: z.object({}),
      async run(_input, turn) {
        await turn.waitForInput({ go: "Go on?" });
        const notes: unknown[] = [await turn.receive("note"), await turn.receive("note")];
        return notes;
      },
    }),
    when: operation({
      input: z.object({ at: z.any() }),
      async run({ at }: { readonly at: unknown }, turn) {
        const before = `${typeof at} ${String(at)}`;
        await turn.waitForInput({ go: "Go on?" });
        return before;
      },
    }),
    keep: operation({
      input: z.object({}),
      async run(_input, turn) {
        const given = await turn.waitForInput({ list: "Which?" });
        await turn.waitForInput({ go: "Go on?" });
        return [turn.metadata, given];
      },
    }),
  },
});

const go: Request = { type: "ResumeWithInput", key: "k", request_keys: { go: true } };

async function eventsOf(host: TestHost): ReturnType<TestHost["events"]> {
  return host.events((await host.runtime.find("worker", "k")) ?? "");
}

test("a queued request keeps the input that it was accepted with", async () => {
  const host = new TestHost({ agents: [worker] });
  const actor = host.runtime.actor(worker, "k");
  await actor.tell("hold", {});
  const job = { id: 0 };
  for (job.id = 1; job.id <= 3; job.id += 1) {
    const told = actor.tell("job", job, { requestId: `job-${job.id}` });
    await host.environment.idle();
    await told;
  }
  await host.environment.advance(1_000);
  const events = await eventsOf(host);
  const started = ofType(events, "RequestStarted").slice(1);
  expect(started.map(({ input }) => input)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  const ended = ofType(events, "RequestCompleted").slice(1);
  expect(ended.map(({ output }) => output)).toEqual([1, 2, 3]);
});

test("a request that is changed while it is checked keeps its first values", async () => {
  const host = new TestHost({ agents: [worker] });
  const job = { id: 1 };
  const request = { type: "OperationRequest", operation: "job", input: job, key: "k", request_id: asked };
  const receipt = host.runtime.process("worker", request as Request);
  job.id = 2;
  request.operation = "hold";
  await host.environment.idle();
  await receipt;
  expect(await host.runtime.status(asked)).toMatchObject({ output: 1 });
});

test("an unread message keeps the body that it was accepted with", async () => {
  const host = new TestHost({ agents: [worker] });
  const actor = host.runtime.actor(worker, "k");
  await host.ask("worker", {
    type: "OperationRequest",
    operation: "listen",
    input: {},
    key: "k",
    request_id: asked,
  });
  const note = { n: 0 };
  for (note.n = 1; note.n <= 2; note.n += 1) {
    const told = actor.tell("note", note);
    await host.environment.idle();
    await told;
  }
  await host.ask("worker", go);
  const logged = ofType(await eventsOf(host), "MessageReceived").map(({ body }) => body);
  expect(logged).toEqual([{ n: 1 }, { n: 2 }]);
  expect(await host.runtime.status(asked)).toMatchObject({ output: [{ n: 1 }, { n: 2 }] });
});

test("an answer and the metadata keep the values that they were accepted with", async () => {
  const host = new TestHost({ agents: [worker] });
  const metadata = { tags: ["a"] };
  const request = { type: "OperationRequest", operation: "keep", input: {}, key: "k", request_id: asked };
  await host.ask("worker", { ...request, request_metadata: metadata } as Request);
  metadata.tags.push("b");
  const list = ["a"];
  await host.ask("worker", { type: "ResumeWithInput", key: "k", request_keys: { list } });
  list.push("b");
  await host.ask("worker", go);
  expect(await host.runtime.status(asked)).toMatchObject({ output: [{ tags: ["a"] }, { list: ["a"] }] });
});

test.each([false, true])("a Date is the string that JSON has for it (restart: %s)", async (restarts) => {
  const host = new TestHost({ agents: [worker] });
  const told = host.runtime.actor(worker, "k").tell("when", { at: new Date(0) }, { requestId: asked });
  await host.environment.idle();
  await told;
  if (restarts) await host.restart();
  await host.ask("worker", go);
  expect(await host.runtime.status(asked)).toMatchObject({ output: "string 1970-01-01T00:00:00.000Z" });
});

test("a value that cannot be JSON is refused with its name, and nothing is written", async () => {
  const host = new TestHost({ agents: [worker] });
  const actor = host.runtime.actor(worker, "k");
  const cycle: { readonly id: number; self?: unknown } = { id: 1 };
  cycle.self = cycle;
  for (const input of [cycle, { id: 1n as unknown as number }]) {
    await expect(actor.ask("job", input)).rejects.toMatchObject({
      code: "unprocessable",
      message: "the input of worker.job is not a JSON value",
    });
  }
  await expect(actor.tell("note", { n: 1n as unknown as number })).rejects.toMatchObject({
    code: "unprocessable",
    message: "the body of message note of worker is not a JSON value",
  });
  await expect(
    host.runtime.process("worker", { ...go, request_keys: { go: 1n } } as unknown as Request),
  ).rejects.toMatchObject({ code: "unprocessable", message: "the answer is not a JSON value" });
  expect(await actor.get()).toBeUndefined();
});

test("an operation without an input is checked with null", async () => {
  const host = new TestHost({ agents: [worker] });
  await expect(host.runtime.ask(worker, "job", undefined as never)).rejects.toMatchObject({
    code: "unprocessable",
  });
});
