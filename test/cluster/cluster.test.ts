import { defineAgent, operation } from "troupe";
import type { Event, RequestId, RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { Unavailable } from "../../src/ports/event-log.ts";
import type { EventLog } from "../../src/ports/event-log.ts";
import type { Json } from "../../src/protocol/json.ts";
import { ClusterHost } from "./cluster-host.ts";
import type { ClusterNode } from "./cluster-host.ts";

/** Says what it is given, after an answer or a sleep. */
const clerk = defineAgent({
  name: "clerk",
  purpose: "Works for a while.",
  operations: {
    wait: operation({
      description: "Waits for an answer.",
      input: z.null(),
      run: async (_input, turn) => {
        const { name } = await turn.waitForInput({ name: "Who?" });
        return name;
      },
    }),
    sleep: operation({
      description: "Sleeps for a while.",
      input: z.number(),
      run: async (ms, turn) => {
        await turn.sleep(ms);
        return "rested";
      },
    }),
  },
  chat: (input) => `heard ${input}`,
});

/** Speaks for two seconds. */
const ticker = defineAgent({
  name: "ticker",
  purpose: "Says a number twenty times a second.",
  async chat(_input, turn) {
    for (let tick = 1; tick <= 40; tick += 1) {
      await turn.sleep(50);
      await turn.text(`${tick}\n`);
    }
  },
});

const chat = (input: string, more: object = {}): { type: "ChatRequest"; input: string } => ({
  type: "ChatRequest",
  input,
  ...more,
});

test("a run that one node owns answers requests that arrive on the other one", async () => {
  const host = new ClusterHost();
  const [a, b] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(1_000);
  const runId = await host.ask(a, "clerk", chat("one", { key: "desk" }));
  expect(await host.log.run(runId)).toMatchObject({ node: a.id });
  expect(await host.ask(b, "clerk", chat("two", { key: "desk" }))).toBe(runId);
  await host.pass(100);

  expect(await host.log.run(runId)).toMatchObject({ node: a.id, turns: 2 });
  const ends = (await host.events(runId)).filter(({ type }) => type === "RequestCompleted");
  expect(ends).toMatchObject([{ result: "heard one" }, { result: "heard two" }]);
  expect(b.router.figures?.().forwarded).toBe(1);
  expect(host.faults).toEqual([]);
});

test("the same request on two nodes at once is accepted once, and both get the same answer", async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const host = new ClusterHost(seed);
    const nodes = [await host.start([clerk]), await host.start([clerk])];
    await host.pass(1_000);
    const request = chat("hi", { request_id: "same" as RequestId });
    const receipts = await host.settle(
      Promise.all(nodes.map((node) => node.runtime.process("clerk", request))),
    );
    expect(receipts[0]?.runId).toBe(receipts[1]?.runId);
    await host.pass(100);
    expect((await host.log.list({ limit: 9 })).runs).toHaveLength(1);
    expect(await host.log.run(receipts[0]?.runId as RunId)).toMatchObject({ turns: 1, status: "idle" });
  }
});

test("a turn of a node that dies is continued by another one, and its answer arrives there", async () => {
  const host = new ClusterHost();
  const [a, b] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const asleep = await host.ask(a, "clerk", { type: "OperationRequest", operation: "sleep", input: 4_000 });
  const waiting = await host.ask(a, "clerk", { type: "OperationRequest", operation: "wait", input: null });
  a.kill();
  await host.pass(6_000);

  expect(await host.log.run(asleep)).toMatchObject({ status: "idle", node: b.id });
  await host.ask(b, "clerk", { type: "ResumeWithInput", run_id: waiting, request_keys: { name: "Ada" } });
  await host.pass(100);
  expect((await host.events(waiting)).at(-1)).toMatchObject({ type: "RequestCompleted", output: "Ada" });
  expect((await host.events(asleep)).at(-1)).toMatchObject({ type: "RequestCompleted", output: "rested" });
});

test("a turn that ends on a node whose clock is behind has taken no negative time", async () => {
  const host = new ClusterHost();
  const ahead = await host.start([clerk], { aheadMs: 60_000 });
  const other = await host.start([clerk]);
  await host.pass(2_000);
  const runId = await host.ask(ahead, "clerk", { type: "OperationRequest", operation: "wait", input: null });
  ahead.kill();
  await host.pass(6_000);
  const answer = { type: "ResumeWithInput", run_id: runId, request_keys: { name: "Ada" } } as const;
  await host.ask(other, "clerk", answer);
  await host.pass(100);
  expect(host.turnsMs).toEqual([0]);
});

test("the runs of a node that leaves continue at once, also on nodes that have just joined", async () => {
  const host = new ClusterHost();
  const a = await host.start([ticker]);
  await host.pass(2_000);
  const runIds = await Promise.all([1, 2, 3, 4].map(() => host.ask(a, "ticker", chat("tick"))));
  await host.pass(500);
  const [b, c] = [await host.start([ticker]), await host.start([ticker])];
  await host.settle(a.runtime.close());
  await host.pass(3_000);

  const owners = await Promise.all(runIds.map(async (runId) => (await host.log.run(runId))?.node));
  expect(new Set(owners)).toEqual(new Set([b.id, c.id]));
  for (const runId of runIds) {
    const events = await host.events(runId);
    expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
    expect(longestPause(events)).toBeLessThan(200);
  }
});

test("a node that starts continues the runs that another one releases meanwhile", async () => {
  const host = new ClusterHost();
  const a = await host.start([ticker]);
  await host.pass(2_000);
  const runId = await host.ask(a, "ticker", chat("tick"));
  const { promise: read, resolve: proceed } = Promise.withResolvers<void>();
  const starting = host.start([ticker], {
    prepare(log) {
      const { waking: asleep } = log;
      // The open requests have been read before.
      Object.assign(log, {
        waking: async (query) => read.then(() => asleep(query)),
      } satisfies Partial<EventLog>);
    },
  });
  await host.pass(500);
  await host.settle(a.runtime.close());
  await host.pass(100);
  expect((await host.log.run(runId))?.node).toBeUndefined();
  proceed();
  const b = await starting;
  await host.pass(100);
  expect(await host.log.run(runId)).toMatchObject({ node: b.id });
});

test("a node whose recovery fails leaves, and the others continue the turns of a node that dies", async () => {
  const host = new ClusterHost();
  const [a, c] = [await host.start([ticker]), await host.start([ticker])];
  await host.pass(2_000);
  const failing = host.start([ticker], {
    prepare(log) {
      Object.assign(log, {
        open: async () => {
          throw new Unavailable("the database is away");
        },
      } satisfies Partial<EventLog>);
    },
  });
  await expect(host.settle(failing)).rejects.toThrow("the database is away");
  await host.pass(2_000);
  const runIds: RunId[] = [];
  for (let run = 0; run < 8; run += 1) runIds.push(await host.ask(c, "ticker", chat("tick")));
  c.kill();
  await host.pass(15_000);
  for (const runId of runIds) expect(await host.log.run(runId)).toMatchObject({ node: a.id, status: "idle" });
});

test("a node that drains gives its runs to the others, and is not ready", async () => {
  const host = new ClusterHost();
  const [a, b] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const asleep = await host.ask(a, "clerk", { type: "OperationRequest", operation: "sleep", input: 3_000 });
  const stateOf = (part: string) => a.runtime.readiness.parts().find(({ name }) => name === part)?.state;
  expect([stateOf("nodes"), stateOf("server")]).toEqual(["ready", "ready"]);
  const closed = a.runtime.close();
  expect([stateOf("nodes"), stateOf("server")]).toEqual(["failed", "failed"]);
  await host.settle(closed);
  await host.pass(4_000);
  expect(b.router.members()).toContainEqual(
    expect.objectContaining({ node: a.id, state: "left", isAlive: false }),
  );
  expect(await host.log.run(asleep)).toMatchObject({ status: "idle", node: b.id });
  expect((await host.events(asleep)).at(-1)).toMatchObject({ output: "rested" });
});

test("a sleeping turn whose time has passed on the clock of the node that loads it ends there", async () => {
  const host = new ClusterHost();
  const ahead = await host.start([clerk], { aheadMs: 60_000 });
  const [b] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const sleep = { type: "OperationRequest", operation: "sleep", input: 30_000 } as const;
  const runIds: RunId[] = [];
  for (let count = 0; count < 8; count += 1) runIds.push(await host.ask(b, "clerk", sleep));
  await host.pass(1_000);
  await host.settle(b.runtime.close());
  await host.pass(1_000);
  // Of these, some are for the third node to wake. A message makes the first one their owner.
  const asleep = (await host.log.waking({})).map(({ runId }) => runId);
  expect(asleep.length).toBeGreaterThan(0);
  expect(asleep.length).toBeLessThan(runIds.length);
  for (const runId of asleep)
    await host.ask(ahead, "clerk", chat("hi", { run_id: runId, on_busy: "enqueue" }));
  await host.pass(35_000);
  for (const runId of asleep)
    expect(await host.log.run(runId)).toMatchObject({ status: "idle", turns: 2, node: ahead.id });
});

test("a turn that its node loses by mistake is continued there", async () => {
  const host = new ClusterHost();
  const [a] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const runId = await host.ask(a, "clerk", { type: "OperationRequest", operation: "sleep", input: 400 });
  // Fences the run in memory, although no other node has it.
  await a.log.claim(runId);
  await host.pass(3_000);

  expect(host.faults).toEqual([expect.stringContaining(`run ${runId} left memory`)]);
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", node: a.id });
  expect((await host.events(runId)).at(-1)).toMatchObject({ type: "RequestCompleted", output: "rested" });
});

test("a message whose answer is lost has its effect once", async () => {
  const host = new ClusterHost();
  const [a, b] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const runId = await host.ask(a, "clerk", chat("one"));
  let answers = 0;
  host.lose.answer = () => (answers += 1) <= 2;
  /** Lets the first answers to a message get lost, and returns how often the other node has answered. */
  const lossy = async (message: () => Promise<unknown>): Promise<number> => {
    answers = 0;
    await host.settle(message());
    await host.pass(100);
    return answers;
  };
  expect(await lossy(() => b.runtime.process("clerk", chat("two", { run_id: runId })))).toBe(3);
  expect(await host.log.run(runId)).toMatchObject({ turns: 2, node: a.id });
  const ends = (await host.events(runId)).filter(({ type }) => type === "RequestCompleted");
  expect(ends).toMatchObject([{ result: "heard one" }, { result: "heard two" }]);
  const configure = { type: "ConfigureRequest", run_id: runId, args: { a: 1 } } as const;
  expect(await lossy(() => b.runtime.process("clerk", configure))).toBe(3);
  const { records } = await host.log.read(runId, { after: 0, records: true });
  expect(records.filter(({ type }) => type === "ConfigRecorded")).toHaveLength(1);
  // The removed run has no owner, so the node removes it again itself.
  expect(await lossy(() => b.runtime.removeRun(runId))).toBe(1);
  expect(await host.log.run(runId)).toMatchObject({ removed: true });
  expect(host.faults).toEqual([]);
});

test("a removal on one node keeps the files of a request that another node is accepting", async () => {
  const host = new ClusterHost();
  const reader = defineAgent({
    name: "reader",
    purpose: "Reads files.",
    chat: async (_input, turn) =>
      (await Promise.all((await turn.attachments()).map((each) => each.text()))).join(),
  });
  const [a, b] = [await host.start([reader]), await host.start([reader])];
  await host.pass(1_000);
  const body = new Blob(["content"]).stream();
  const file = { name: "notes.txt", mimeType: "text/plain", limitBytes: 100, body };
  const { artifactId } = await a.runtime.upload(file);
  const attachments = [artifactId];
  const first = await host.ask(b, "reader", chat("one", { attachments }));
  const second = await host.ask(b, "reader", chat("two"));
  const { promise: removed, resolve: remove } = Promise.withResolvers<void>();
  const { promise: sent, resolve: send } = Promise.withResolvers<void>();
  host.delay = (message) => {
    if (!JSON.stringify(message).includes("three")) return undefined;
    send();
    return removed;
  };
  const asked = host.ask(a, "reader", chat("three", { run_id: second, attachments }));
  await sent;
  await host.settle(b.runtime.removeRun(first));
  expect(await host.log.run(first)).toMatchObject({ removed: true });
  remove();
  await asked;
  await host.pass(100);

  expect((await host.events(second)).at(-1)).toMatchObject({ result: "content" });
  expect((await host.artifacts.get(artifactId))?.runIds).toEqual([second]);
  await expect(
    host.settle(a.runtime.process("reader", chat("four", { run_id: "run_none", attachments }))),
  ).rejects.toMatchObject({ code: "not_found" });
  await host.settle(b.runtime.removeRun(second));
  expect(await host.artifacts.get(artifactId)).toBeUndefined();
  expect(host.faults).toEqual([]);
});

test("a configuration is followed on the other nodes", async () => {
  const host = new ClusterHost();
  const reader = defineAgent({
    name: "reader",
    purpose: "Says how it is configured.",
    chat: (_input, turn) => JSON.stringify(turn.config),
  });
  const [a, b] = [await host.start([reader]), await host.start([reader])];
  await host.pass(1_000);
  const args = { api_key: "secret", level: 1 };
  await host.settle(a.runtime.process("reader", { type: "ConfigureRequest", args }));
  await host.pass(100);
  const runId = await host.ask(b, "reader", chat("?"));
  await host.pass(100);
  expect((await host.events(runId)).at(-1)).toMatchObject({ result: JSON.stringify(args) });
});

test("a node that was away does not send the tell of a turn that another node has taken over", async () => {
  const host = new ClusterHost();
  let cut = (): void => {};
  const teller = defineAgent({
    name: "teller",
    purpose: "Tells the clerk something.",
    chat: async (_input, turn) => {
      const told = turn.tell(turn.actor(clerk, "desk"), "sleep", 1);
      // The ToolCall is written, but this node does not get the answer.
      cut();
      await told;
    },
  });
  const [a, b] = [await host.start([teller, clerk]), await host.start([teller, clerk])];
  await host.pass(2_000);
  const desk = await host.ask(b, "clerk", chat("open", { key: "desk" }));
  let mend = (): void => {};
  cut = () => {
    cut = () => {};
    mend = a.cut();
  };
  const runId = await host.ask(a, "teller", chat("tell"));
  await host.pass(6_000);
  expect((await host.events(runId)).at(-1)).toMatchObject({ finish_reason: "success" });
  expect(await host.log.run(runId)).toMatchObject({ node: b.id, status: "idle" });

  const sent: Json[] = [];
  host.lose.message = (message) => {
    sent.push(message);
    return false;
  };
  mend();
  await host.pass(12_000);
  expect(sent).toEqual([]);
  const started = (await host.events(desk)).filter(({ type }) => type === "RequestStarted");
  expect(started).toHaveLength(2);
});

/** How a node leaves, which returns what brings it back. */
const DEPARTURES: readonly (readonly [
  what: string,
  leave: (node: ClusterNode) => () => void,
  backMs: number,
])[] = [
  [
    "has ended",
    (node) => {
      node.kill();
      return () => {};
    },
    1_000,
  ],
  ["was away and is back", (node) => node.cut(), 1_000],
  ["was away and has been back for a minute", (node) => node.cut(), 60_000],
];

test.for(DEPARTURES)(
  "a late tell of a node that %s, and whose run another node has taken over, has no effect",
  async ([, leave, backMs]) => {
    const host = new ClusterHost();
    const teller = defineAgent({
      name: "teller",
      purpose: "Tells the clerk something.",
      chat: async (_input, turn) => {
        await turn.tell(turn.actor(clerk, "desk"), "sleep", 1);
        return "told";
      },
    });
    const agents = [teller, clerk];
    const limits = { queuedActorRequests: 1 };
    const [a, b, c] = [
      await host.start(agents, { limits }),
      await host.start(agents, { limits }),
      await host.start(agents, { limits }),
    ];
    await host.pass(2_000);
    const wait = { type: "OperationRequest", operation: "wait", input: null, key: "desk" } as const;
    const desk = await host.ask(c, "clerk", wait);
    await host.ask(c, "teller", chat("tell"));
    await host.pass(100);

    const { promise: late, resolve: arrives } = Promise.withResolvers<void>();
    let messages = 0;
    host.delay = () => ((messages += 1) === 1 ? late : undefined);
    const runId = await host.ask(a, "teller", chat("tell"));
    await host.pass(100);
    expect(messages).toBe(1);
    const comeBack = leave(a);
    await host.pass(70_000);
    expect((await host.log.run(runId))?.node).not.toBe(a.id);
    expect(await host.events(runId)).toContainEqual(
      expect.objectContaining({ type: "ToolError", code: "overloaded" }),
    );
    await host.ask(b, "clerk", { type: "ResumeWithInput", run_id: desk, request_keys: { name: "Ada" } });
    comeBack();
    await host.pass(backMs);

    arrives();
    await host.pass(1_000);
    expect(await host.log.run(desk)).toMatchObject({ turns: 2, status: "idle" });
  },
);

test("a request that waited at a node while it was away, and was refused elsewhere meanwhile, is not accepted", async () => {
  const host = new ClusterHost();
  const { promise: work, resolve: end } = Promise.withResolvers<void>();
  const worker = defineAgent({
    name: "worker",
    purpose: "Works until it is told to stop.",
    chat: (_input, turn) => turn.effect("work", () => work, { effect: "idempotent" }),
  });
  const options = { limits: { idleRuns: 0 } };
  const [a, b] = [await host.start([worker], options), await host.start([worker], options)];
  await host.pass(2_000);
  const runId = await host.ask(b, "worker", chat("work"));
  expect(await host.log.run(runId)).toMatchObject({ node: b.id });
  const { promise: late, resolve: arrives } = Promise.withResolvers<void>();
  let messages = 0;
  host.delay = () => ((messages += 1) === 1 ? late : undefined);

  const mend = b.cut();
  const second = a.runtime.process("worker", chat("hello", { run_id: runId, on_busy: "reject" }));
  await expect(host.settle(second)).rejects.toMatchObject({ code: "conflict" });
  end();
  await host.pass(2_000);
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", turns: 1 });
  mend();
  await host.pass(500);
  arrives();
  await host.pass(1_000);
  expect(messages).toBe(1);
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", turns: 1 });
});

test("a cancel of a run that another node has taken over and removed is not sent for ever", async () => {
  const host = new ClusterHost();
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks the clerk.",
    chat: async (_input, turn) => {
      await turn.ask(turn.actor(clerk, "desk"), "wait", null);
    },
  });
  const [a, b] = [await host.start([asker, clerk]), await host.start([asker, clerk])];
  await host.pass(2_000);
  const desk = await host.ask(b, "clerk", chat("open", { key: "desk" }));
  const runId = await host.ask(a, "asker", chat("ask", { request_id: "asked" }));
  await host.pass(100);
  expect(await host.log.run(desk)).toMatchObject({ status: "waiting", node: b.id });
  host.lose.message = () => true;
  await host.settle(a.runtime.process("asker", { type: "CancelRequest", request_id: "asked" }));
  await host.pass(100);
  expect(await host.log.outbox({ runId })).toHaveLength(1);

  const mend = a.cut();
  await host.pass(12_000);
  expect(await host.log.run(runId)).toMatchObject({ node: b.id, status: "idle" });
  expect(await host.log.run(desk)).toMatchObject({ status: "idle", turns: 2 });
  await host.settle(b.runtime.removeRun(runId));
  mend();
  await host.pass(60_000);
  expect(host.faults).toEqual([expect.stringContaining(`${a.id}: run ${runId} left memory`)]);
});

test("a run whose messages to itself cannot be written is not loaded again for each of them", async () => {
  const host = new ClusterHost();
  const asker = defineAgent({
    name: "asker",
    purpose: "Asks itself.",
    operations: { rest: operation({ description: "Rests.", input: z.number(), run: () => "rested" }) },
    chat: async (_input, turn): Promise<void> => {
      await Promise.all([1, 2, 3].map((input) => turn.ask(turn.actor(asker, "desk"), "rest", input)));
    },
  });
  const [a] = [await host.start([asker]), await host.start([asker])];
  await host.pass(2_000);
  const { append, claim, find, health } = a.log;
  const { promise: canceled, resolve: cancel } = Promise.withResolvers<void>();
  let hasAsked = false;
  let isFull = false;
  let claims = 0;
  Object.assign(a.log, {
    append: async (cursor, batch) => {
      if (isFull) throw new Unavailable("the disk is full");
      const next = await append(cursor, batch);
      hasAsked ||= batch.events.some((event) => JSON.stringify(event).includes("ToolCall"));
      // The cancels of the asks are the last that is written.
      isFull = batch.outbox !== undefined;
      return next;
    },
    claim: async (runId, options) => {
      claims += 1;
      return claims > 100 ? new Promise(() => {}) : claim(runId, options);
    },
    find: async (alias) => {
      if (hasAsked) await canceled;
      return find(alias);
    },
    health: () => (isFull ? { writable: false, reason: "the disk is full" } : { writable: true }),
  } satisfies Partial<EventLog>);
  const runId = await host.ask(a, "asker", chat("ask", { key: "desk", request_id: "asked" }));
  await host.settle(a.runtime.process("asker", { type: "CancelRequest", request_id: "asked" }));
  cancel();
  await host.pass(10_000);
  expect(isFull).toBe(true);
  expect(await host.log.outbox({ runId })).toHaveLength(3);
  // Each look of the nodes for messages that have not arrived loads it for the three.
  expect(claims).toBeLessThan(20);

  Object.assign(a.log, { append, claim, find, health });
  await host.pass(5_000);
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", node: a.id, turns: 4 });
  expect(await host.log.outbox({ runId })).toEqual([]);
});

test("a run that could not be continued when the log was back is continued when it is back again", async () => {
  const host = new ClusterHost();
  const [a] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const runId = await host.ask(a, "clerk", { type: "OperationRequest", operation: "sleep", input: 400 });
  const { append, health, open, release, run } = a.log;
  let outage: "first" | "none" | "second" = "first";
  const answered = async <Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer> => {
    if (outage !== "none") throw new Unavailable("the database is away");
    return answer();
  };
  let reads = 0;
  Object.assign(a.log, {
    append: (cursor, batch) => answered(() => append(cursor, batch)),
    // A node that cannot reach the database keeps its claims there.
    release: () => {},
    open: (query) => answered(() => open(query)),
    run: (asked) =>
      answered(() => {
        // The database is away again after the node has looked for its runs.
        if (asked === runId && (reads += 1) === 1) outage = "second";
        return run(asked);
      }),
    health: () => (outage === "first" ? { writable: false, reason: "it is away" } : { writable: true }),
  } satisfies Partial<EventLog>);
  await host.pass(2_000);
  expect(await host.log.run(runId)).toMatchObject({ status: "running", node: a.id });
  outage = "none";
  await host.pass(3_000);
  expect(outage).toBe("second");
  Object.assign(a.log, { append, health, open, release, run });
  await host.pass(60_000);
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", node: a.id });
});

test.for([
  ["also one that another node has set", () => {}],
  ["also one that its node has not heard of", (node: ClusterNode) => node.deafen()],
] as const)("a new configuration removes the secret that it replaces, %s", async ([, prepare]) => {
  const host = new ClusterHost();
  const [a, b] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  prepare(b);
  const configure = (node: ClusterNode, token: string): Promise<unknown> =>
    host.settle(node.runtime.process("clerk", { type: "ConfigureRequest", args: { token } }));
  await configure(a, "one");
  await host.pass(1_000);
  const [replaced] = await host.secrets.names();
  await configure(b, "two");
  // A node that has not heard of it yet may still start runs with the value before.
  expect(await host.secrets.names()).toHaveLength(2);
  await host.pass(70_000);
  const names = await host.secrets.names();
  expect(names).toHaveLength(1);
  expect(names).not.toContain(replaced);
});

test("a fork that ends while the remains of other forks are looked for stays", async () => {
  const host = new ClusterHost();
  const [a, b, c] = [await host.start([clerk]), await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const source = await host.ask(a, "clerk", chat("one"));
  const fork = await host.settle(a.runtime.fork(source, { after: 0 }));
  // The nodes have read the list before the fork ended.
  for (const { log } of [a, b]) {
    const { list } = log;
    (log as { list: EventLog["list"] }).list = async (query) => {
      const page = await list(query);
      if (query.agent !== "") return page;
      const entry = await host.log.run(fork);
      return { ...page, runs: entry === undefined ? [] : [{ ...entry, agent: "" }] };
    };
  }
  c.kill();
  await host.pass(8_000);
  expect(await host.log.run(fork)).toMatchObject({ agent: "clerk" });
  expect((await host.log.run(fork))?.removed).not.toBe(true);
  expect(host.faults).toEqual([]);
});

/** The longest time between two events, in milliseconds. */
function longestPause(events: readonly Event[]): number {
  const times = events.map(({ ts }) => Date.parse(ts));
  return Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? time)));
}
