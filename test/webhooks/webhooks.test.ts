import { createRuntime } from "troupe";
import type { Runtime } from "troupe";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { manualEnvironment } from "troupe/testing";
import { createWebhooks } from "troupe/webhooks";
import type { WebhookOptions, Webhooks } from "troupe/webhooks";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryDirectory } from "../storage/directories.ts";
import { asker, speaker } from "./agents.ts";
import { pass, start } from "./hooked.ts";
import { SECRET, startReceiver } from "./receiver.ts";

test("questions and ends are told, signed and in order for a run, to a receiver that fails half of the time and over a restart", async () => {
  const environment = manualEnvironment();
  const directory = temporaryDirectory();
  // Refused, cut off, taken, taken …
  await using receiver = await startReceiver((attempt) => [500, 204, 0, 204][attempt % 4] ?? 204);
  const endpoints: WebhookOptions[] = [
    { url: receiver.url, on: ["wait", "end"], secret: SECRET, name: "desk", allowPrivate: true },
  ];
  const runs: string[] = [];
  {
    await using server = await start(directory, endpoints, environment);
    for (let count = 0; count < 15; count += 1) {
      const { runId, requestId } = await server.runtime.process("asker", { type: "ChatRequest", input: "x" });
      runs.push(String(runId));
      if (count % 3 === 0) continue;
      await pass(environment, async () => (await server.runtime.status(requestId)).status === "waiting", 100);
      await server.runtime.process("asker", {
        type: "ResumeWithInput",
        request_id: requestId,
        request_keys: { ok: true },
      });
    }
    await pass(environment, () => receiver.attempts > 3);
  }
  await using server = await start(directory, endpoints, environment);
  const ids = (): Set<string> => new Set(receiver.taken.map(({ id }) => id));
  // 15 questions, and 10 ends.
  await pass(environment, () => ids().size === 25);
  for (const run of runs) {
    const ofRun = receiver.taken.filter(({ runId }) => runId === run);
    const events = [...new Set(ofRun.map(({ event }) => event))];
    expect(events).toEqual(events.toSorted((a, b) => a - b));
    expect(ofRun[0]?.type).toBe("request.waiting");
  }
  const { runs: deliveries } = await server.runtime.runs({ agent: "webhook", limit: 100 });
  // One for each run, and the one that says since when.
  expect(deliveries).toHaveLength(16);

  // A person sends one again: the receiver knows it by its id.
  const [again] = receiver.taken;
  const before = receiver.taken.length;
  const answer = await fetch(`${server.url}/webhook/process`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      type: "OperationRequest",
      operation: "resend",
      input: { to: "desk", run_id: again?.runId, event: again?.event },
    }),
  });
  expect(answer.status).toBe(202);
  await pass(environment, () => receiver.taken.length > before);
  expect(receiver.taken.at(-1)?.id).toBe(again?.id);
});

test("a receiver of one owner is told of the runs of this owner alone, also when one is sent again", async () => {
  const environment = manualEnvironment();
  await using receiver = await startReceiver();
  await using server = await start(
    temporaryDirectory(),
    [{ url: receiver.url, on: ["end"], secret: SECRET, name: "acme", owner: "acme", allowPrivate: true }],
    environment,
  );
  const request = { type: "ChatRequest", input: "x" } as const;
  const of = (owner: string): Runtime => server.runtime.as({ id: "ada", owner, roles: ["user"] });
  const foreign = await of("other").process("speaker", request);
  const own = await of("acme").process("speaker", request);
  await pass(environment, () => receiver.taken.length > 0);
  expect(receiver.taken.map(({ runId }) => runId)).toEqual([own.runId]);

  const { requestId } = await server.runtime.process("webhook", {
    type: "OperationRequest",
    operation: "resend",
    input: { to: "acme", run_id: foreign.runId, event: receiver.taken[0]?.event ?? 0 },
  });
  await pass(environment, async () => (await server.runtime.status(requestId)).finish_reason === "error");
  expect(receiver.attempts).toBe(1);
});

test("a user of another owner has nothing sent again, and an operator asks in the run of the delivery", async () => {
  const environment = manualEnvironment();
  await using receiver = await startReceiver();
  await using server = await start(
    temporaryDirectory(),
    [{ url: receiver.url, on: ["end"], secret: SECRET, name: "desk", allowPrivate: true }],
    environment,
  );
  const of = (owner: string, role: string): Runtime => server.runtime.as({ id: "ada", owner, roles: [role] });
  const { runId } = await of("acme", "user").process("speaker", { type: "ChatRequest", input: "x" });
  await pass(environment, () => receiver.taken.length > 0);
  const request = {
    type: "OperationRequest",
    operation: "resend",
    input: { to: "desk", run_id: runId, event: receiver.taken[0]?.event ?? 0 },
  } as const;
  const foreign = await of("other", "user").process("webhook", request);
  let ended: unknown;
  await pass(environment, async () => {
    ended = await server.runtime.status(foreign.requestId);
    return (ended as { status: string }).status === "completed";
  });
  expect(ended).toMatchObject({ finish_reason: "error" });
  expect(receiver.attempts).toBe(1);

  const delivery = await server.runtime.find("webhook", `desk:${runId}`);
  expect(delivery).toBeDefined();
  await of("other", "operator").process("webhook", { ...request, ...(delivery && { run_id: delivery }) });
  await pass(environment, () => receiver.attempts === 2);
});

test(
  "what happened while no webhooks ran is told at the next start, and what was before the first start is not",
  { tags: "long" },
  async () => {
    const environment = manualEnvironment();
    const directory = temporaryDirectory();
    await using receiver = await startReceiver();
    const endpoint: WebhookOptions = {
      url: receiver.url,
      on: ["end"],
      agents: ["speaker"],
      secret: SECRET,
      allowPrivate: true,
    };
    const speak = async (runtime: Runtime, agent = "speaker"): Promise<string> => {
      const receipt = await runtime.process(agent, { type: "ChatRequest", input: "hello" });
      await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
      await environment.advance(10);
      return String(receipt.runId);
    };
    const bare = async (): Promise<Runtime> => {
      const { agent } = createWebhooks([endpoint]);
      const runtime = createRuntime({
        agents: [asker, speaker, agent],
        log: sqliteLog(directory),
        environment,
      });
      await runtime.ready();
      return runtime;
    };
    const early = await bare();
    await speak(early);
    await early.close();
    {
      await using server = await start(directory, [endpoint], environment);
      await environment.advance(10);
      await speak(server.runtime, "asker");
    }
    const between = await bare();
    const missed = await speak(between);
    await between.close();

    await using server = await start(directory, [endpoint], environment);
    const live = await speak(server.runtime);
    await pass(environment, () => receiver.taken.length >= 2);
    expect(receiver.taken.map(({ runId }) => runId).toSorted()).toEqual([missed, live].toSorted());
  },
);

test(
  "a delivery that goes on after a restart before the server listens is tried again",
  { tags: "long" },
  async () => {
    const environment = manualEnvironment();
    const directory = temporaryDirectory();
    let isAway = true;
    await using receiver = await startReceiver(() => (isAway ? 503 : 204));
    const endpoints: WebhookOptions[] = [
      { url: receiver.url, on: ["end"], secret: SECRET, name: "desk", allowPrivate: true },
    ];
    let told = "";
    {
      await using server = await start(directory, endpoints, environment);
      const { runId } = await server.runtime.process("speaker", { type: "ChatRequest", input: "hello" });
      told = runId ?? "";
      await pass(environment, () => receiver.attempts === 1, 10);
    }
    isAway = false;
    const hooks = createWebhooks(endpoints);
    const runtime = createRuntime({
      agents: [asker, speaker, hooks.agent],
      log: sqliteLog(directory),
      environment,
      limits: { turnMs: 1e12 },
    });
    await runtime.ready();
    const [delivery] = (await runtime.runs({ agent: "webhook", limit: 1 })).runs;
    const before = delivery?.last_event_id ?? 0;
    // The pause of its first attempt is over, and the next one has failed.
    await pass(environment, async () => {
      const { runs } = await runtime.runs({ agent: "webhook", limit: 1 });
      return (runs[0]?.last_event_id ?? 0) >= before + 3;
    });
    const server = await serve(runtime, { drain: false, listeners: [hooks] });
    try {
      await pass(environment, () => receiver.taken.length > 0);
      expect(receiver.taken.map(({ runId, event }) => [runId, event])).toEqual([[told, 3]]);
    } finally {
      await server.close({ graceMs: 0 });
      await runtime.close();
    }
  },
);

test(
  "a receiver that never takes a message is tried for a day, and the turn says why it failed",
  { tags: "long" },
  async () => {
    const environment = manualEnvironment();
    await using receiver = await startReceiver(() => 503);
    await using server = await start(
      temporaryDirectory(),
      [{ url: receiver.url, on: ["end"], secret: SECRET, name: "away", allowPrivate: true }],
      environment,
    );
    const from = environment.now();
    await server.runtime.process("speaker", { type: "ChatRequest", input: "hello" });
    let failed: unknown;
    await pass(
      environment,
      async () => {
        const { runs } = await server.runtime.runs({ agent: "webhook", finishReason: "error", limit: 1 });
        [failed] = runs;
        return failed !== undefined;
      },
      600_000,
    );
    expect(environment.now() - from).toBeGreaterThan(20 * 3_600_000);
    expect(receiver.attempts).toBeGreaterThan(10);
    expect(receiver.attempts).toBeLessThan(40);
    expect(receiver.taken).toEqual([]);
    expect(failed).toMatchObject({
      agent: "webhook",
      last_turn: { operation: "deliver", finish_reason: "error" },
    });
  },
);

test("nothing is sent to a private address", async () => {
  const environment = manualEnvironment();
  await using receiver = await startReceiver();
  const { port } = new URL(receiver.url);
  const hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"];
  hosts.push("2130706433", "127.1", "0x7f000001", "0177.0.0.1", "[::ffff:0:7f00:1]");
  await using server = await start(
    temporaryDirectory(),
    hosts.map((host, index) => ({
      url: `https://${host}:${port}/hook`,
      on: ["end"],
      secret: SECRET,
      name: `host-${index}`,
    })),
    environment,
  );
  const receipt = await server.runtime.process("speaker", { type: "ChatRequest", input: "hello" });
  await server.runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  const results = new Set<string>();
  await pass(environment, async () => {
    const { runs } = await server.runtime.runs({ agent: "webhook", limit: 100 });
    for (const { run_id: runId } of runs) {
      const address = { kind: "run", runId, agent: "webhook" } as const;
      const { events } = await server.runtime.read(address, { after: 0, filter: { level: "all" } });
      if (events.join().includes("has an address that is not public")) results.add(runId);
    }
    return results.size === hosts.length;
  });
  expect(receiver.attempts).toBe(0);
});

test.each([
  [{ url: "http://hooks.example" }, /must start with https/],
  [{ url: "nonsense" }, /has no valid name/],
  [{ on: [] }, /needs the topics/],
  [{ on: ["everything"] }, /needs the topics/],
  [{ secret: "whsec_c2hvcnQ=" }, /is not whsec_/],
  [{ secret: "plain" }, /is not whsec_/],
])("the webhook %o is refused at the start", (options, message) => {
  const good = { url: "https://hooks.example", on: ["end"], secret: SECRET };
  expect(() => createWebhooks([{ ...good, ...options } as WebhookOptions])).toThrow(message);
});

test("what happens after the clock was set back is told, also at the next start", async () => {
  const now = Date.now.bind(Date);
  const clock = vi.spyOn(Date, "now");
  onTestFinished(() => clock.mockRestore());
  const directory = temporaryDirectory();
  await using receiver = await startReceiver();
  const hooks = (): Webhooks =>
    createWebhooks([
      { url: receiver.url, on: ["end"], agents: ["speaker"], secret: SECRET, allowPrivate: true },
    ]);
  const open = async (webhooks: Webhooks): Promise<Runtime> => {
    const runtime = createRuntime({ agents: [speaker, webhooks.agent], log: sqliteLog(directory) });
    await runtime.ready();
    return runtime;
  };
  const speak = async (runtime: Runtime): Promise<string> => {
    const receipt = await runtime.process("speaker", { type: "ChatRequest", input: "hello" });
    await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
    return String(receipt.runId);
  };
  const told = (runs: readonly string[]): Promise<void> =>
    expect.poll(() => receiver.taken.map(({ runId }) => runId)).toEqual(runs);

  const first = hooks();
  const runtime = await open(first);
  const feed = breakable(runtime);
  const listening = await first.listen(feed.runtime, { report() {}, authenticated: false });
  const before = await speak(runtime);
  await told([before]);
  clock.mockImplementation(() => now() - 3 * 86_400_000);
  const after = await speak(runtime);
  await told([before, after]);
  feed.break();
  const unseen = await speak(runtime);
  feed.mend();
  await told([before, after, unseen]);
  await listening.close({ graceMs: 0 });
  const missed = await speak(runtime);
  await runtime.close();

  const second = hooks();
  const again = await open(second);
  const listeningAgain = await second.listen(again, { report() {}, authenticated: false });
  await told([before, after, unseen, missed]);
  await listeningAgain.close({ graceMs: 0 });
  await again.close();
});

/** A runtime whose feed of runs can break, so that what changes meanwhile is not in it. */
function breakable(runtime: Runtime): { readonly runtime: Runtime; break(): void; mend(): void } {
  let breaking = Promise.withResolvers<never>();
  let isBroken = false;
  const watchRuns: Runtime["watchRuns"] = (query) => {
    if (isBroken) throw new Error("the feed is broken");
    const feed = runtime.watchRuns(query);
    const pages = feed.pages[Symbol.asyncIterator]();
    const next = (): ReturnType<typeof pages.next> => Promise.race([pages.next(), breaking.promise]);
    return { ...feed, pages: { [Symbol.asyncIterator]: () => ({ next }) } };
  };
  return {
    runtime: new Proxy(runtime, {
      get: (_, name): unknown => (name === "watchRuns" ? watchRuns : Reflect.get(runtime, name)),
    }),
    break() {
      isBroken = true;
      breaking.reject(new Error("the feed has broken"));
      breaking = Promise.withResolvers<never>();
    },
    mend() {
      isBroken = false;
    },
  };
}
