// The actors in memory as programs of XState see them.
import { createRuntime, defineAgent, defineTool, memoryLog } from "troupe";
import type { RunRef, Runtime, Telemetry } from "troupe";
import type { RunId } from "troupe/protocol";
import { manualEnvironment } from "troupe/testing";
import type { ManualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Mock } from "vitest";
import { waitFor } from "xstate";
import type { AnyActorRef, InspectionEvent, Snapshot } from "xstate";
import { z } from "zod";
import { noTelemetry } from "../../../src/runtime/options.ts";

const helper = defineTool({
  name: "helper",
  description: "Helps.",
  input: z.object({ fails: z.boolean().default(false) }),
  run({ fails }) {
    if (fails) throw new Error("no help");
    return "helped";
  },
});

const clerk = defineAgent({
  name: "clerk",
  purpose: "Helps, and asks.",
  messages: { steer: z.string() },
  async chat(input, turn) {
    await turn.tool(helper, {});
    await turn.tool(helper, { fails: true }).catch(() => undefined);
    if (input === "ask") await turn.waitForInput({ ok: "Fine?" });
    if (input === "receive") return (await turn.receive("steer")) as string;
    return "done";
  },
});

interface Started {
  readonly runtime: Runtime;
  readonly environment: ManualEnvironment;
  readonly runId: RunId;
  readonly failed: Mock<Telemetry["failed"]>;
}

/** Starts a turn with this input, and lets it come to rest. */
async function start(input: string, limits = {}): Promise<Started> {
  const environment = manualEnvironment();
  const failed = vi.fn<Telemetry["failed"]>();
  const telemetry = { ...noTelemetry, failed };
  const runtime = createRuntime({ agents: [clerk], environment, telemetry, limits });
  onTestFinished(async () => {
    const closed = runtime.close();
    await environment.idle();
    await closed;
  });
  const asked = runtime.process("clerk", { type: "ChatRequest", input, request_id: "asked", key: "desk" });
  await environment.idle();
  return { runtime, environment, runId: (await asked).runId as RunId, failed };
}

/** The actors that an inspector is told of when it is attached now: each as its id below those above it. */
function tree({ system }: Runtime): readonly string[] {
  const paths: string[] = [];
  const pathOf = ({ id, _parent: parent }: AnyActorRef): string =>
    parent ? `${pathOf(parent)} > ${id}` : id;
  const inspect = (event: InspectionEvent): void => {
    if (event.type === "@xstate.actor") paths.push(pathOf(event.actorRef as AnyActorRef));
  };
  system.inspect(inspect).unsubscribe();
  return paths;
}

test("the actor of a run is found by the id of the run, and its snapshot is the state of the run", async () => {
  const { runtime, environment, runId } = await start("ask");
  const actor = runtime.system.get(runId) as RunRef;
  expect(actor.id).toBe(runId);
  expect(actor.system.get(runId)).toBe(actor);
  expect(Object.keys(runtime.system.getAll())).toEqual([runId]);
  const waiting = actor.getSnapshot() as unknown;
  expect(waiting).toEqual({
    status: "active",
    value: "waiting",
    context: { agent: "clerk", key: "desk", request_id: "asked", turns: 1, queued: 0 },
  });
  // It is the same object until something changes.
  expect(actor.getSnapshot()).toBe(waiting);
  const values: unknown[] = [];
  actor.select(({ value }) => value).subscribe((value) => values.push(value));
  const queued = vi.fn<(queued: number) => void>();
  actor.select(({ context }) => context.queued).subscribe(queued);
  const idle = waitFor(actor, ({ value }) => value === "idle");
  const second = { type: "ChatRequest", input: "go", key: "desk", on_busy: "enqueue" } as const;
  await runtime.process("clerk", second);
  expect(queued).toHaveBeenLastCalledWith(1);
  await runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: "asked",
    request_keys: { ok: true },
  });
  await environment.idle();
  await idle;
  expect(queued).toHaveBeenLastCalledWith(0);
  expect(values.at(-1)).toBe("idle");
  expect(values).toContain("running");
  expect(actor.getSnapshot()).toMatchObject({ context: { request_id: undefined, turns: 2 } });
  expect(waiting).toMatchObject({ value: "waiting" });
});

test("what is sent to the actor of a run is a message for its agent", async () => {
  const { runtime, environment, runId, failed } = await start("receive");
  const actor = runtime.system.get(runId) as RunRef;
  actor.send({ type: "steer", body: "left" });
  await environment.idle();
  expect(await runtime.status("asked")).toMatchObject({ finish_reason: "success", result: "left" });
  expect(failed).toHaveBeenCalledOnce(); // The tool, as it should.
  actor.send({ type: "sing", body: "la" });
  actor.send({ type: "steer", body: 7 });
  await environment.idle();
  expect(failed.mock.calls.slice(1).map(([message]) => message)).toEqual([
    `run ${runId} does not take the event sing`,
    `run ${runId} does not take the event steer`,
  ]);
});

test("no event from outside changes the state of a run, or of its turn", async () => {
  const { runtime, environment, runId } = await start("ask");
  const turns: AnyActorRef[] = [];
  runtime.system
    .inspect((event) => {
      if (event.type === "@xstate.actor") turns.push(event.actorRef as AnyActorRef);
    })
    .unsubscribe();
  const hostile: readonly unknown[] = [
    null,
    undefined,
    7,
    "end",
    {},
    { type: 7 },
    { type: "end" },
    { type: "close" },
    { type: "xstate.stop" },
    { type: "xstate.done.actor.c1", output: 1, actorId: "c1" },
    { type: "constructor" },
  ];
  for (const actor of turns.slice(1)) for (const event of hostile) actor.send(event);
  await environment.idle();
  expect(turns.map(({ id }) => id)).toEqual(["troupe", runId, "c1"]);
  expect(runtime.system.get(runId)?.getSnapshot()).toMatchObject({ status: "active", value: "waiting" });
  expect(turns.at(-1)?.getSnapshot()).toMatchObject({ status: "active", input: { input: { input: "ask" } } });
  await runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: "asked",
    request_keys: { ok: true },
  });
  await environment.idle();
  expect(await runtime.status("asked")).toMatchObject({ finish_reason: "success" });
});

test("an inspector that is attached late is told of the actors that are there, and of no other", async () => {
  const { runtime, environment, runId } = await start("ask");
  expect(tree(runtime)).toEqual(["troupe", `troupe > ${runId}`, `troupe > ${runId} > c1`]);
  await runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: "asked",
    request_keys: { ok: true },
  });
  await environment.idle();
  expect(tree(runtime)).toEqual(["troupe", `troupe > ${runId}`]);
});

test("an actor that has ended leaves, and is told to its observers and its parent", async () => {
  const ended: string[] = [];
  const told: string[] = [];
  const environment = manualEnvironment();
  const inspect = (event: InspectionEvent): void => {
    if (event.type === "@xstate.actor" && (event.actorRef as AnyActorRef).id !== "troupe")
      (event.actorRef as AnyActorRef).subscribe({
        error: (error: unknown) => ended.push(`${(event.actorRef as AnyActorRef).id} ${String(error)}`),
        complete: () => ended.push((event.actorRef as AnyActorRef).id),
      });
    if (event.type === "@xstate.event" && /^xstate\.(?:done|error)/u.test(event.event.type))
      told.push(`${(event.actorRef as AnyActorRef).id} ${event.event.type}`);
  };
  const runtime = createRuntime({ agents: [clerk], environment, inspect });
  const asked = await runtime.process("clerk", { type: "ChatRequest", input: "go" });
  const runId = asked.runId as RunId;
  await environment.idle();
  expect(ended).toEqual(["c1.1", "c1.2 Error: no help", "c1"]);
  expect(told).toEqual([
    "c1 xstate.done.actor.c1.1",
    "c1 xstate.error.actor.c1.2",
    `${runId} xstate.done.actor.c1`,
  ]);
  const actor = runtime.system.get(runId) as RunRef;
  const closing = runtime.close();
  await environment.idle();
  await closing;
  expect(ended.at(-1)).toBe(runId);
  expect(actor.getSnapshot()).toMatchObject({ status: "done", value: "closed" });
  const late = vi.fn<() => void>();
  actor.subscribe({ complete: late });
  expect(late).toHaveBeenCalledOnce();
});

test("a passivated run has no actor, and its actor of the next time continues", async () => {
  const { runtime, environment, runId } = await start("ask", { idleRuns: 0 });
  expect(runtime.system.get(runId)).toBeUndefined();
  expect(tree(runtime)).toEqual(["troupe"]);
  const seen: (readonly [string, unknown])[] = [];
  runtime.system.inspect((event) => {
    if (event.type !== "@xstate.snapshot") return;
    const { value, status } = event.snapshot as Snapshot<unknown> & { readonly value?: string };
    seen.push([(event.actorRef as AnyActorRef).id, value ?? status]);
  });
  await runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: "asked",
    request_keys: { ok: true },
  });
  await environment.idle();
  expect(seen).toContainEqual([runId, "waiting"]);
  expect(seen).toContainEqual(["c1", "done"]);
  expect(seen.findLast(([id]) => id === runId)).toEqual([runId, "closed"]);
});

test("turns leave nothing behind in the system", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [clerk], environment, log: memoryLog(), limits: { idleRuns: 4 } });
  const first = runtime.process("clerk", { type: "ChatRequest", input: "go" });
  await environment.idle();
  const runId = (await first).runId as RunId;
  for (let turn = 0; turn < 200; turn += 1) {
    const key = turn % 2 === 0 ? { run_id: runId } : {};
    await runtime.process("clerk", { type: "ChatRequest", input: "go", ...key });
    await environment.idle();
  }
  expect(tree(runtime).every((path) => path.split(" > ").length <= 2)).toBe(true);
  expect(tree(runtime).length).toBeLessThanOrEqual(6);
  await runtime.close();
});

test("an observer that throws stops nothing", async () => {
  const { runtime, environment, runId } = await start("ask");
  runtime.system.get(runId)?.subscribe(() => {
    throw new Error("no observer");
  });
  await runtime.process("clerk", {
    type: "ResumeWithInput",
    request_id: "asked",
    request_keys: { ok: true },
  });
  await environment.idle();
  expect(await runtime.status("asked")).toMatchObject({ finish_reason: "success" });
});
