import { AgentError, createRuntime, defineAgent, memoryLog } from "troupe";
import type { DeadLetter, Principal, Runtime } from "troupe";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { payments } from "../../../agents/payments.ts";
import { eventsOf } from "./events-of.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"], name: "Ann" };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };
const OPS: Principal = { id: "ops", owner: "default", roles: ["operator"] };

const notes = defineAgent({
  name: "notes",
  purpose: "Keeps notes.",
  messages: { note: z.string() },
  memorySchema: z.string().default(""),
  operations: (own) => ({
    add: own({
      input: z.string(),
      run(text, turn) {
        turn.memory.set(turn.memory.get() + text);
        return turn.memory.get();
      },
    }),
    lose: own({
      input: z.string(),
      run(): never {
        throw new Error("the notes are lost");
      },
    }),
  }),
});

/** Asks the notes with the key `inner`. */
const asker = defineAgent({
  name: "asker",
  purpose: "Asks an actor.",
  operations: (own) => ({
    forward: own({
      input: z.string(),
      run: (text, turn) => turn.ask(turn.actor(notes, "inner"), "add", text),
    }),
    remind: own({
      input: z.string(),
      run: (text, turn) => turn.tell(turn.actor(notes, "inner"), "lose", text),
    }),
  }),
});

async function start(log = memoryLog()): Promise<Runtime> {
  const runtime = createRuntime({ agents: [notes, asker, payments], log });
  onTestFinished(() => runtime.close());
  await runtime.ready();
  return runtime;
}

/** What a call throws, as a client gets it. */
async function refusalOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    if (error instanceof AgentError) return { code: error.code, message: error.message, ...error.details };
    throw error;
  }
  return "no refusal";
}

test("each owner has keys of its own, also for the actors that its actors ask", async () => {
  const runtime = await start();
  const [ann, bob] = [runtime.as(ANN), runtime.as(BOB)];
  expect(await ann.ask(asker, "forward", "a", { key: "k" })).toBe("a");
  expect(await bob.ask(asker, "forward", "b", { key: "k" })).toBe("b");
  expect(await runtime.ask(notes, "add", "d", { key: "inner" })).toBe("d");
  expect(await ann.actor(notes, "inner").ask("add", "!")).toBe("a!");
  const own = await ann.find("notes", "inner");
  expect(own).toBeDefined();
  expect(await bob.find("notes", "inner")).not.toBe(own);
  expect((await ann.runs({ limit: 10 })).runs).toHaveLength(2);
  expect((await bob.runs({ limit: 10 })).runs).toHaveLength(2);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(5);
  expect((await runtime.as(OPS).runs({ limit: 10, owner: "bolt" })).runs).toHaveLength(2);
  expect((await bob.runs({ limit: 10, owner: "acme" })).runs).toHaveLength(2);
});

test("what belongs to another owner is refused exactly like what does not exist", async () => {
  const runtime = await start();
  const [ann, bob] = [runtime.as(ANN), runtime.as(BOB)];
  const paid = await ann.process("payments", {
    type: "ChatRequest",
    input: "pay 30 to x",
    request_id: "order-1",
  });
  await ann.acknowledgement(paid, { until: "completed", timeoutMs: 10_000 });
  const runId = paid.runId ?? "";
  const calls: readonly ((id: { readonly run: string; readonly request: string }) => Promise<unknown>)[] = [
    ({ run }) => bob.run(run),
    ({ run }) => bob.requests(run),
    ({ run }) => bob.resolve(run),
    ({ request }) => bob.resolve(request),
    ({ request }) => bob.status(request),
    ({ run }) => bob.removeRun(run),
    ({ run }) => bob.fork(run, { after: 0 }),
    ({ run }) => bob.endHeld(run),
    ({ run }) => bob.resume(run),
    ({ run }) => bob.retryHeld({ runId: run }),
    ({ run }) => bob.read({ kind: "run", runId: run, agent: "payments" }, { after: 0 }),
    ({ run }) => bob.follow({ kind: "run", runId: run, agent: "payments" }, { after: 0 }),
    ({ run }) => bob.answers({ ...paid, runId: run }),
    ({ run }) => bob.acknowledgement({ ...paid, runId: run }, { until: "completed", timeoutMs: 1 }),
    ({ run }) => bob.process("payments", { type: "ChatRequest", input: "hi", run_id: run }),
    ({ run }) => bob.process("payments", { type: "ConfigureRequest", args: {}, run_id: run }),
    ({ run }) =>
      bob.process("payments", { type: "ResumeWithInput", run_id: run, request_keys: { approved: true } }),
    ({ request }) =>
      bob.process("payments", {
        type: "ResumeWithInput",
        request_id: request,
        request_keys: { approved: true },
      }),
    ({ request }) => bob.process("payments", { type: "CancelRequest", request_id: request }),
    ({ run }) => bob.upload({ name: "f", mimeType: "text/plain", body: bytes(), limitBytes: 10, runId: run }),
  ];
  for (const call of calls) {
    const other = JSON.stringify(await refusalOf(call({ run: runId, request: "order-1" })));
    const none = JSON.stringify(await refusalOf(call({ run: "run_none", request: "order-none" })));
    expect(other.replaceAll(runId, "ID").replaceAll("order-1", "ID")).toBe(
      none.replaceAll("run_none", "ID").replaceAll("order-none", "ID"),
    );
    expect(none).not.toBe('"no refusal"');
  }
  expect((await bob.waits({ limit: 10, runId })).events).toEqual([]);
  expect((await ann.waits({ limit: 10 })).events).toHaveLength(1);
  expect((await runtime.as(OPS).waits({ limit: 10 })).events).toHaveLength(1);
  expect(await ann.status("order-1")).toMatchObject({ status: "waiting" });
});

test("a dead letter is not the business of users, not even of its own owner: operators list, send and dismiss it", async () => {
  const runtime = await start();
  const ann = runtime.as(ANN);
  await ann.ask(asker, "remind", "x");
  const letter = async (other?: string): Promise<readonly [runId: string, requestId: string]> => {
    const find = async (): Promise<DeadLetter | undefined> =>
      (await runtime.deadLetters()).find(({ request_id: id }) => id !== other);
    await expect.poll(find).toBeDefined();
    const found = await find();
    return [found?.run_id ?? "", found?.request_id ?? ""];
  };
  const first = await letter();
  for (const user of [ann, runtime.as(BOB)]) {
    const calls = [() => user.deadLetters(), () => user.sendAgain(...first), () => user.dismiss(...first)];
    for (const call of calls) expect(await refusalOf(call())).toMatchObject({ code: "forbidden" });
  }
  const ops = runtime.as(OPS);
  expect(await ops.deadLetters()).toMatchObject([{ operation: "lose", input: "x", request_id: first[1] }]);
  const { requestId } = await ops.sendAgain(...first);
  // It fails again: in the actor of the same owner, who therefore finds the request.
  const again = await letter(first[1]);
  expect(again).toEqual([first[0], requestId]);
  expect(await ann.status(requestId)).toMatchObject({ finish_reason: "error" });
  await ops.dismiss(...again);
  expect(await ops.deadLetters()).toEqual([]);
});

test("two owners use the same request id, each for a request of its own", async () => {
  const runtime = await start();
  const [ann, bob] = [runtime.as(ANN), runtime.as(BOB)];
  const request = { type: "OperationRequest", operation: "add", input: "x", request_id: "order-1" } as const;
  const first = await ann.process("notes", request);
  const second = await bob.process("notes", { ...request, input: "y" });
  const third = await runtime.process("notes", { ...request, input: "z" });
  expect(new Set([first, second, third].map(({ runId }) => runId)).size).toBe(3);
  for (const [who, receipt] of [
    [ann, first],
    [bob, second],
    [runtime, third],
  ] as const) {
    await who.acknowledgement(receipt, { until: "completed", timeoutMs: 10_000 });
    expect(await who.resolve("order-1")).toMatchObject({ runId: receipt.runId });
    expect(await who.status("order-1")).toMatchObject({ run_id: receipt.runId, status: "completed" });
  }
  expect(await bob.process("notes", { ...request, input: "y" })).toMatchObject({
    replayed: true,
    runId: second.runId,
  });
});

test("events say who caused them; those that the trusted runtime caused say nothing", async () => {
  const runtime = await start();
  const ann = runtime.as(ANN);
  const by = { id: "ann", name: "Ann" };
  const paid = await ann.process("payments", { type: "ChatRequest", input: "pay 30 to x" });
  await ann.acknowledgement(paid, { until: "completed", timeoutMs: 10_000 });
  await runtime.as(OPS).process("payments", {
    type: "ResumeWithInput",
    request_id: paid.requestId,
    request_keys: { approved: true },
  });
  await ann.acknowledgement(paid, { until: "completed", timeoutMs: 10_000 });
  const events = await eventsOf(ann, paid.requestId);
  expect(events.find(({ type }) => type === "RequestStarted")).toMatchObject({ by });
  expect(events.find(({ type }) => type === "ResumeWithInput")).toMatchObject({ by: { id: "ops" } });

  const again = await ann.process("payments", { type: "ChatRequest", input: "pay 30 to x" });
  await ann.acknowledgement(again, { until: "completed", timeoutMs: 10_000 });
  await ann.process("payments", { type: "CancelRequest", request_id: again.requestId });
  await ann.acknowledgement(again, { until: "completed", timeoutMs: 10_000 });
  expect((await eventsOf(ann, again.requestId)).find(({ type }) => type === "CancelRequest")).toMatchObject({
    by,
  });

  const message = await ann.actor(notes, "k").tell("note", "hello");
  expect((await eventsOf(ann, message.runId ?? ""))[0]).toMatchObject({ type: "MessageReceived", by });

  const created = await ann.createRun("notes", { key: "new" });
  expect((await eventsOf(ann, created))[0]).toMatchObject({ type: "RunCreated", by });

  const trusted = await runtime.process("notes", { type: "OperationRequest", operation: "add", input: "x" });
  await runtime.acknowledgement(trusted, { until: "completed", timeoutMs: 10_000 });
  for (const event of await eventsOf(runtime, trusted.requestId)) expect(event).not.toHaveProperty("by");
});

test("a file that waits for a request is seen and attached only by its owner", async () => {
  const runtime = await start();
  const [ann, bob] = [runtime.as(ANN), runtime.as(BOB)];
  const { artifactId } = await ann.upload({
    name: "f",
    mimeType: "text/plain",
    body: bytes(),
    limitBytes: 10,
  });
  expect((await ann.artifact(artifactId)).info).toMatchObject({ name: "f" });
  const none = await refusalOf(bob.artifact("none"));
  expect(JSON.stringify(await refusalOf(bob.artifact(artifactId))).replaceAll(artifactId, "none")).toBe(
    JSON.stringify(none),
  );
  const attach = (who: Runtime, id: string): Promise<unknown> =>
    who.process("notes", { type: "OperationRequest", operation: "add", input: "x", attachments: [id] });
  const refused = JSON.stringify(await refusalOf(attach(bob, artifactId)));
  expect(refused.replaceAll(artifactId, "none")).toBe(JSON.stringify(await refusalOf(attach(bob, "none"))));
  await attach(ann, artifactId);
  expect((await ann.artifact(artifactId)).info.runIds).toHaveLength(1);
  expect(await refusalOf(bob.artifact(artifactId))).toMatchObject({ code: "not_found" });
});

test("a user may not configure an agent, inspect the server or close the runtime; an operator sees, an admin configures", async () => {
  const runtime = await start();
  const ann = runtime.as(ANN);
  const configure = (who: Runtime): Promise<unknown> =>
    who.process("notes", { type: "ConfigureRequest", args: {} });
  expect(await refusalOf(configure(ann))).toMatchObject({
    code: "forbidden",
    message: "ann may not configure the agent notes",
  });
  expect(await refusalOf(configure(runtime.as(OPS)))).toMatchObject({ code: "forbidden" });
  await configure(runtime.as({ ...OPS, roles: ["admin"] }));
  expect(() => ann.inspection).toThrow("may not inspect");
  expect(() => ann.actors()).toThrow("may not see");
  expect(await refusalOf(ann.countHeld())).toMatchObject({ code: "forbidden" });
  expect(await refusalOf(ann.retryHeld({ agent: "notes" }))).toMatchObject({ code: "forbidden" });
  expect(await refusalOf(ann.close())).toMatchObject({ code: "forbidden" });
  expect(runtime.as(OPS).actors()).toEqual([]);
});

test("after a restart everything still belongs to its owner", async () => {
  const log = memoryLog();
  const before = createRuntime({ agents: [notes, asker, payments], log });
  await before.ready();
  const paid = await before
    .as(ANN)
    .process("payments", { type: "ChatRequest", input: "pay 30 to x", request_id: "order-1" });
  await before.as(ANN).acknowledgement(paid, { until: "completed", timeoutMs: 10_000 });
  const next = log.reopen();
  await before.close();
  const runtime = await start(next);
  const ann = runtime.as(ANN);
  await ann.process("payments", {
    type: "ResumeWithInput",
    request_id: "order-1",
    request_keys: { approved: true },
  });
  await ann.acknowledgement(paid, { until: "completed", timeoutMs: 10_000 });
  expect(await ann.status("order-1")).toMatchObject({ status: "completed", finish_reason: "success" });
  const forked = await ann.fork(paid.runId ?? "", { after: 0 });
  expect(await ann.run(forked)).toMatchObject({ run_id: forked });
  expect(await refusalOf(runtime.as(BOB).run(forked))).toMatchObject({ code: "not_found" });
});

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array([1, 2, 3]);
}
