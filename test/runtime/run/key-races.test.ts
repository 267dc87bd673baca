import { AgentError, createRuntime, defineAgent, memoryArtifacts, memoryLog, operation } from "troupe";
import type { Environment, Runtime } from "troupe";
import { manualEnvironment } from "troupe/testing";
import type { RequestId, RunId } from "troupe/protocol";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { nodeEnvironment } from "../../../src/node/environment.ts";
import type { EventLog } from "../../../src/ports/event-log.ts";
import type { Batch } from "../../../src/ports/log-batch.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { sqliteLog } from "../../../src/storage/sqlite/index.ts";
import { createRandom } from "../../../src/testing/event-log/random.ts";
import { temporaryDirectory } from "../../storage/directories.ts";
import { Routers } from "../routers.ts";
import { sampled } from "../../machine/long.ts";

const counter = defineAgent({
  name: "counter",
  purpose: "Counts its turns.",
  operations: {
    count: operation({
      input: z.object({}),
      run(_input, turn) {
        const count = Number(turn.memory.get() ?? 0) + 1;
        turn.memory.set(count);
        return { count };
      },
    }),
  },
});

const asker = defineAgent({
  name: "asker",
  purpose: "Has the counter count.",
  operations: {
    use: operation({
      input: z.object({}),
      run: (_input, turn): Promise<unknown> => turn.ask(turn.actor(counter, "desk"), "count", {}),
    }),
  },
});

/** The runs of the counter as the log has seen them. */
class Watch {
  readonly #open = new Map<RunId, Set<RequestId>>();
  readonly #removed = new Set<RunId>();
  readonly faults: string[] = [];
  readonly ended = new Set<RequestId>();
  runs = 0;

  /** A log that says what is written to it, and sometimes takes its time. */
  over(log: EventLog, maybeWait: () => Promise<void>): EventLog {
    const slowly =
      <Given extends readonly unknown[], Answer>(ask: (...given: Given) => Promise<Answer>) =>
      async (...given: Given): Promise<Answer> => {
        await maybeWait();
        const answer = await ask(...given);
        await maybeWait();
        return answer;
      };
    return {
      ...log,
      append: slowly(async (cursor, batch) => {
        const next = await log.append(cursor, batch);
        this.#written(cursor.runId, batch);
        return next;
      }),
      remove: slowly(async (cursor) => {
        const things = await log.remove(cursor);
        for (const requestId of this.#open.get(cursor.runId) ?? [])
          this.faults.push(`${requestId} was open in run ${cursor.runId} when that was removed`);
        this.#removed.add(cursor.runId);
        return things;
      }),
      claim: slowly(log.claim),
      find: slowly(log.find),
      lookup: slowly(log.lookup),
      run: slowly(log.run),
      close: async () => {},
    };
  }

  #written(runId: RunId, { alias, requests = [] }: Batch): void {
    if (alias?.agent === "counter") this.runs += 1;
    if (this.#removed.has(runId)) this.faults.push(`run ${runId} was written to after its removal`);
    const open = this.#open.get(runId) ?? new Set();
    this.#open.set(runId, open);
    for (const { requestId, phase } of requests) {
      if (phase !== "completed") open.add(requestId);
      else {
        open.delete(requestId);
        this.ended.add(requestId);
      }
    }
  }
}

interface Race {
  readonly log: EventLog;
  readonly environment: Environment;
  readonly seed: number;
  readonly actions: number;
  /** Whether runs move from one runtime to the other. */
  readonly moves: boolean;
  /** Resolves with the result of a promise, while the time passes. */
  readonly settle: <Result>(promise: Promise<Result>) => Promise<Result>;
}

/** Two runtimes on one log are sent requests by one key, and are made to remove its run, all at the same time. */
async function race({ log, environment, seed, actions, moves, settle }: Race): Promise<number> {
  const random = createRandom(seed);
  const watch = new Watch();
  const routers = new Routers();
  const [artifacts, secrets] = [memoryArtifacts(), memorySecrets()];
  const maybeWait = (): Promise<void> =>
    new Promise((resolve) => {
      if (random.below(3) === 0) environment.macrotask(resolve);
      else resolve();
    });
  const runtimes = [0, 1].map((node) =>
    createRuntime({
      agents: [counter, asker],
      log: watch.over(log, maybeWait),
      artifacts,
      secrets,
      router: routers.router(node),
      environment,
      limits: { keyedRunEvents: 9, queuedRequests: 1_000, idleRuns: random.below(2) * 10 },
    }),
  );
  const pick = (): Runtime => runtimes[random.below(2)] as Runtime;
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      environment.timer(20, resolve);
    });

  /** A client repeats what a server cannot do at present, and nothing else. */
  async function insist<Result>(ask: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof AgentError) || error.code !== "unavailable") throw error;
        await pause();
      }
    }
  }
  async function remove(runtime: Runtime): Promise<void> {
    const runId = await runtime.find("counter", "desk");
    try {
      if (runId !== undefined) await insist(() => runtime.removeRun(runId));
    } catch (error) {
      // It is busy, or another removal was faster.
      if (!(error instanceof AgentError) || !["conflict", "gone"].includes(error.code)) throw error;
    }
  }

  const sent: RequestId[] = [];
  const work: Promise<unknown>[] = [];
  for (let action = 1; action <= actions; action += 1) {
    const runtime = pick();
    const requestId: RequestId = `asked-${action}`;
    const request = { type: "OperationRequest", input: {}, request_id: requestId } as const;
    switch (random.below(moves ? 8 : 7)) {
      case 0:
      case 1:
        work.push(remove(runtime));
        break;
      case 2:
        work.push(insist(() => runtime.createRun("counter", { key: "desk" })));
        break;
      case 3:
        sent.push(requestId);
        work.push(insist(() => runtime.process("asker", { ...request, operation: "use" })));
        break;
      case 7:
        routers.move(random.below(2));
        break;
      default:
        sent.push(requestId);
        work.push(insist(() => runtime.process("counter", { ...request, operation: "count", key: "desk" })));
    }
    // The next requests find an idle run, which can be removed or renewed.
    if (random.below(6) === 0) await settle(Promise.all(work).then(() => idle(log, pause, moves)));
  }
  await settle(Promise.all(work).then(() => idle(log, pause, moves)));
  for (const runtime of runtimes) await settle(runtime.close());

  expect(watch.faults).toEqual([]);
  expect(sent.filter((requestId) => !watch.ended.has(requestId))).toEqual([]);
  const { runs } = await log.list({ agent: "counter", limit: 1_000 });
  const named = runs.filter(({ alias }) => alias === "desk");
  expect(named.length).toBeLessThanOrEqual(1);
  expect(named[0]?.runId).toBe(await log.find({ agent: "counter", name: "desk" }));
  return watch.runs;
}

/** Resolves when no request is open in a log, and if asked for, when all replies are known to have arrived. */
async function idle(log: EventLog, pause: () => Promise<void>, isQuiet: boolean): Promise<void> {
  for (;;) {
    const { runs } = await log.list({ limit: 1_000 });
    const hasReplies = isQuiet && (await log.outbox({})).length > 0;
    if (!hasReplies && runs.every(({ status }) => status === "idle")) return;
    await pause();
  }
}

const seeds = Array.from({ length: 20 }, (_, index) => index + 1);

test.each(
  sampled(
    seeds.flatMap((seed) => [false, true].map((moves) => ({ seed, moves }))),
    5,
  ),
)(
  "requests by one key through two runtimes, and removals, lose nothing (seed $seed, runs move: $moves)",
  async ({ seed, moves }) => {
    const environment = manualEnvironment({ seed });
    const runs = await race({
      log: memoryLog(),
      environment,
      seed,
      actions: 80,
      moves,
      async settle(promise) {
        let isSettled = false;
        const end = (): void => void (isSettled = true);
        promise.then(end, end);
        for (let round = 0; round < 1_000 && !isSettled; round += 1) await environment.advance(100);
        if (!isSettled) throw new Error("a caller is stuck");
        return promise;
      },
    });
    expect(runs).toBeGreaterThan(3);
  },
);

test(
  "requests by one key through two runtimes on one SQLite log, and removals, lose nothing",
  { tags: "long" },
  async () => {
    const log = sqliteLog(temporaryDirectory());
    onTestFinished(() => log.close());
    const runs = await race({
      log,
      environment: nodeEnvironment(),
      seed: 1,
      actions: 300,
      moves: false,
      settle: (promise) => promise,
    });
    expect(runs).toBeGreaterThan(3);
  },
);
