import { createRuntime, defineAgent, fromMachine, memoryLog } from "troupe";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import type { ActorRefLike, AnyActorRef, InspectionEvent } from "xstate";
import { z } from "zod";
import { requestOf } from "../../agents/events.ts";
import { adder, createDesk } from "./desk.ts";

const member = defineAgent({
  name: "member",
  purpose: "Uses a tool, and asks.",
  config: z.object({ api_key: z.string().default("") }),
  async chat(_input, turn) {
    if (turn.config.api_key === "") throw new Error("no key");
    await turn.tool(adder, { a: 1, b: 2 });
    const { ok } = await turn.waitForInput({ ok: "Fine?" });
    return JSON.stringify(ok);
  },
});

const clerk = fromMachine({
  name: "clerk",
  purpose: "Is a machine.",
  machine: createDesk(member),
});

const team = defineAgent({
  name: "team",
  purpose: "Calls a machine.",
  chat: async (_input, turn) => void (await turn.call(clerk, "chat", { input: "hello" })),
});

/** The tree that an inspector sees: the id of each actor below that of its parent, by session. */
class Tree {
  readonly events: InspectionEvent[] = [];
  readonly #ids = new Map<string, string>();
  readonly #parents = new Map<string, string | undefined>();
  readonly roots = new Set<string>();

  readonly inspect = (event: InspectionEvent): void => {
    this.events.push(event);
    this.roots.add(event.rootId);
    if (event.type === "@xstate.actor") this.#add(event.actorRef);
  };

  #add(ref: ActorRefLike): void {
    const { sessionId, id, _parent: parent } = ref as AnyActorRef;
    this.#ids.set(sessionId, id);
    this.#parents.set(sessionId, parent?.sessionId);
  }

  /** Every actor as the path of ids from its root. */
  get paths(): readonly string[] {
    const pathOf = (session: string): string => {
      const above = this.#parents.get(session);
      const id = this.#ids.get(session) ?? "?";
      return above === undefined ? id : `${pathOf(above)} > ${id}`;
    };
    return [...this.#ids.keys()].map(pathOf);
  }
}

test("an inspector sees a run, its turn, its calls and their machines as one tree, also when it is revived", async () => {
  const log = memoryLog();
  const tree = new Tree();
  const agents = [team, clerk, member];
  const environment = manualEnvironment();
  const runtime = createRuntime({
    agents,
    log: { ...log, close: async () => {} },
    inspect: tree.inspect,
    environment,
  });
  await runtime.process("member", { type: "ConfigureRequest", args: { api_key: "s3cret" } });
  const asked = runtime.process("team", { type: "ChatRequest", input: "go", request_id: "asked" });
  await environment.idle();
  const { runId } = await asked;
  const run = `troupe > ${runId}`;
  const open = [
    run,
    `${run} > c1`,
    `${run} > c1 > c1.1`,
    `${run} > c1 > c1.1 > c1.1/machine`,
    `${run} > c1 > c1.1 > c1.1/machine > help`,
    `${run} > c1 > c1.1 > c1.1.1`,
  ];
  expect(tree.paths.filter((path) => path.startsWith(run))).toEqual([
    ...open,
    `${run} > c1 > c1.1 > c1.1.1 > c1.1.1.1`,
  ]);
  const states = tree.events
    .filter((event) => event.type === "@xstate.snapshot")
    .map(({ snapshot }) => (snapshot as { value?: unknown }).value);
  expect(states).toContain("waiting");
  expect(states).toContain("working");
  const json = JSON.stringify(tree.events, (key, value: unknown) =>
    key === "actorRef" || key === "sourceRef" ? undefined : value,
  );
  expect(json).not.toContain("s3cret");
  const closing = runtime.close();
  await environment.idle();
  await closing;

  const revived = new Tree();
  const again = createRuntime({ agents, log, inspect: revived.inspect, environment });
  const answer = again.process("team", {
    type: "ResumeWithInput",
    request_id: "asked",
    request_keys: { ok: true },
  });
  await environment.idle();
  await answer;
  await environment.idle();
  expect(revived.paths.filter((path) => path.startsWith(run))).toEqual(open);
  expect(await again.status("asked")).toMatchObject({ finish_reason: "success" });
  const closed = again.close();
  await environment.idle();
  await closed;
});

test("an error of an inspector, or of a handler, affects nothing else", async () => {
  const faulty = defineAgent({
    name: "faulty",
    purpose: "Fails.",
    chat: () => {
      throw new Error("on purpose");
    },
  });
  const runtime = createRuntime({
    agents: [faulty],
    inspect: () => {
      throw new Error("no inspector");
    },
  });
  const events = await collect(runtime, "faulty", { type: "ChatRequest", input: "" });
  expect(events.at(-1)).toMatchObject({ error: { code: "agent_error", message: "on purpose" } });
  expect(await runtime.status(requestOf(events))).toMatchObject({ finish_reason: "error" });
  await runtime.close();
});

test("the runs in memory show what is open in them", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [team, clerk, member], environment });
  await runtime.process("member", { type: "ConfigureRequest", args: { api_key: "s3cret" } });
  const asked = runtime.process("team", {
    type: "ChatRequest",
    input: "go",
    request_id: "asked",
    key: "t-1",
  });
  await environment.idle();
  const queued = runtime.process("team", {
    type: "ChatRequest",
    input: "go",
    key: "t-1",
    on_busy: "enqueue",
  });
  await environment.idle();
  const { runId } = await asked;
  await queued;
  expect(runtime.actors()).toEqual([
    {
      runId,
      agent: "team",
      key: "t-1",
      status: "waiting",
      queued: 1,
      unread: 0,
      requestId: "asked",
      calls: [
        { callId: "c1.1.1.2", kind: "wait", name: "wait" },
        { callId: "c1.1.1", kind: "agent", name: "member" },
        { callId: "c1.1", kind: "agent", name: "clerk" },
      ],
    },
  ]);
  const closed = runtime.close();
  await environment.idle();
  await closed;
});
