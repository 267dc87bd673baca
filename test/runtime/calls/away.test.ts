/** @module-tag long */
import { defineAgent, ModelError } from "troupe";
import type { Agent, CompletionOptions, Model } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";
import { MODEL_LIMITS, runOutage } from "./outage.ts";

/** A model that can go away; it notes when it is asked. */
class Sometimes implements Model {
  readonly name: string;
  /** Why it does not answer; `undefined` while it is there. */
  fault: ModelError | undefined = new ModelError("nobody is there", { code: "model_unavailable" });
  readonly attempts: number[] = [];
  /** How many attempts ran at the same time, at most. */
  most = 0;
  readonly #pause: ((ms: number) => Promise<void>) | undefined;
  #running = 0;

  constructor(name = "sometimes", pause?: (ms: number) => Promise<void>) {
    this.name = name;
    this.#pause = pause;
  }

  async *generate(_input: unknown, { attempt }: { readonly attempt: number }) {
    this.attempts.push(attempt);
    this.#running += 1;
    this.most = Math.max(this.most, this.#running);
    try {
      yield { type: "text", text: `${this.name} ` } as const;
      await this.#pause?.(1_000);
      if (this.fault) throw this.fault;
      yield { type: "result", result: `by ${this.name}`, usage: { output_tokens: 1 } } as const;
    } finally {
      this.#running -= 1;
    }
  }
}

function talker(options: Omit<CompletionOptions, "input">): Agent {
  return defineAgent({
    name: "talker",
    purpose: "Lets a model talk.",
    async chat(_input, turn) {
      return (await turn.complete({ ...options, input: "" })) as string;
    },
  });
}

const HOUR_MS = 3_600_000;

test("while its model is away a turn rests and leaves memory, and answers when the model is back", async () => {
  const model = new Sometimes();
  const host = new TestHost({ agents: [talker({ model })], limits: { idleRuns: 0 } });
  await host.ask("talker", chat);
  await host.environment.advance(HOUR_MS);
  expect(host.runtime.health()).toMatchObject({ activeRuns: 0, activeTurns: 0 });
  // One pause a minute, after those that grow.
  expect(model.attempts.length).toBeGreaterThan(60);
  expect(model.attempts.length).toBeLessThan(140);
  const retries = ofType(await host.events(asked), "CompletionRetry");
  expect(retries[0]).toMatchObject({ attempt: 1, error: "nobody is there", error_code: "model_unavailable" });
  const status = await host.runtime.status(asked);
  expect(status).toMatchObject({ status: "running", waiting_for: { kind: "model", model: "sometimes" } });
  expect(status.wake_at).toBe(retries.at(-1)?.until);

  model.fault = undefined;
  await host.environment.advance(60_000);
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "by sometimes" });
  expect(ofType(events, "CompletionResult")).toHaveLength(1);
  expect(host.environment.timers).toBe(0);
});

test("a failed attempt is no interrupted one, however often the process dies between two of them", async () => {
  const model = new Sometimes();
  const host = new TestHost({ agents: [talker({ model })] });
  await host.ask("talker", chat);
  for (let life = 0; life < 12; life += 1) {
    await host.environment.advance(61_000);
    host.crash();
    await host.restart();
  }
  model.fault = undefined;
  await host.environment.advance(61_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success" });
});

test("the time of the retries is wall time, and a provider's delay beyond it is not waited for", async () => {
  const away = new Sometimes();
  const host = new TestHost({ agents: [talker({ model: away, retry: { forMs: HOUR_MS } })] });
  await host.ask("talker", chat);
  await host.environment.advance(HOUR_MS / 2);
  await host.restart();
  await host.environment.advance(HOUR_MS / 2 + 1);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    error: { code: "model_unavailable", message: "nobody is there (it was away for 3600 s)" },
  });

  const limited = new Sometimes();
  const options = { code: "model_unavailable", retryAfterMs: 2 * HOUR_MS } as const;
  limited.fault = new ModelError("come back later", options);
  const other = new TestHost({ agents: [talker({ model: limited, retry: { forMs: HOUR_MS } })] });
  await other.ask("talker", chat);
  expect((await other.events(asked)).at(-1)).toMatchObject({
    error: { message: "come back later (it asks for a retry after 7200 s)" },
  });
});

test("a provider's delay is obeyed to the second", async () => {
  const model = new Sometimes();
  model.fault = new ModelError("busy", { code: "model_unavailable", retryAfterMs: HOUR_MS });
  const host = new TestHost({ agents: [talker({ model })], limits: { idleRuns: 0 } });
  await host.ask("talker", chat);
  model.fault = undefined;
  await host.environment.advance(HOUR_MS - 1);
  expect(model.attempts).toEqual([1]);
  await host.environment.advance(1);
  expect(model.attempts).toEqual([1, 2]);
});

test("while a model is away only one request at a time asks it, and all begin again when it is back", async () => {
  const model = new Sometimes("sometimes", (ms) => host.pause(ms));
  const host: TestHost = new TestHost({ agents: [talker({ model })], limits: { idleRuns: 0 } });
  const ids = Array.from({ length: 300 }, (_, index) => `asked-${index}` as RequestId);
  for (const request_id of ids) await host.ask("talker", { ...chat, request_id });
  await host.environment.advance(HOUR_MS);
  const before = model.attempts.length;
  // A probe a minute by all turns together.
  await host.environment.advance(HOUR_MS);
  expect(model.attempts.length - before).toBeLessThan(140);
  expect(host.runtime.health().activeTurns).toBeLessThanOrEqual(1);

  model.most = 0;
  model.fault = undefined;
  await host.environment.advance(180_000);
  const ends = await Promise.all(ids.map(async (id) => host.runtime.status(id)));
  expect(ends.filter(({ finish_reason: reason }) => reason === "success")).toHaveLength(ids.length);
  expect(model.most).toBeLessThanOrEqual(256);
  expect(host.environment.timers).toBe(0);
});

test("turns that wait for a model begin one after the other after a restart", async () => {
  const model = new Sometimes("sometimes", (ms) => host.pause(ms));
  const host: TestHost = new TestHost({ agents: [talker({ model })], limits: { idleRuns: 0 } });
  const ids = Array.from({ length: 100 }, (_, index) => `asked-${index}` as RequestId);
  for (const request_id of ids) await host.ask("talker", { ...chat, request_id });
  await host.environment.advance(HOUR_MS);
  host.crash();
  const before = model.attempts.length;
  await host.restart();
  await host.environment.advance(60_000);
  expect(model.attempts.length - before).toBeLessThan(20);
  model.fault = undefined;
  await host.environment.advance(180_000);
  const ends = await Promise.all(ids.map(async (id) => host.runtime.status(id)));
  expect(ends.filter(({ finish_reason: reason }) => reason === "success")).toHaveLength(ids.length);
});

test("another model is asked at once, and the text of the first one does not count", async () => {
  const first = new Sometimes("first");
  const second = new Sometimes("second");
  second.fault = undefined;
  const host = new TestHost({ agents: [talker({ model: first, fallback: [second] })] });
  await host.ask("talker", chat);
  const events = await host.events(asked);
  expect(ofType(events, "CompletionCall").map(({ model }) => model)).toEqual(["first", "second"]);
  expect(ofType(events, "CompletionRetry").map(({ until }) => until)).toEqual([undefined]);
  expect(ofType(events, "CompletionResult")).toMatchObject([{ model: "second" }]);
  expect(events.at(-1)).toMatchObject({ result: "by second" });
});

test("when all models are away, the one that is back first answers", async () => {
  const first = new Sometimes("first");
  const second = new Sometimes("second");
  const host = new TestHost({
    agents: [talker({ model: first, fallback: [second] })],
    limits: { idleRuns: 0 },
  });
  await host.ask("talker", chat);
  await host.environment.advance(HOUR_MS);
  second.fault = undefined;
  await host.environment.advance(120_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "by second" });
});

test("a function of the error chooses the next models", async () => {
  const small = new Sometimes("small");
  small.fault = new ModelError("too long", { code: "context_overflow" });
  const large = new Sometimes("large");
  large.fault = undefined;
  const errors: unknown[] = [];
  const fallback: CompletionOptions["fallback"] = (error) => {
    errors.push(error);
    return error.code === "context_overflow" ? [large] : [];
  };
  const host = new TestHost({ agents: [talker({ model: small, fallback })] });
  await host.ask("talker", chat);
  expect(errors).toEqual([{ code: "context_overflow", message: "too long", model: "small" }]);
  expect((await host.events(asked)).at(-1)).toMatchObject({ result: "by large" });
});

test.each([
  ["before its first part", 0],
  ["between two parts", 2],
])("an answer that stalls %s is asked for again, and its model learns it", async (_, parts) => {
  const aborted: number[] = [];
  const model: Model = {
    name: "slow",
    async *generate(_input, { attempt, signal }) {
      for (let part = 0; part < parts; part += 1) {
        await host.pause(9_000);
        yield { type: "text", text: "well " };
      }
      if (attempt === 1) {
        signal.addEventListener("abort", () => void aborted.push(attempt));
        await new Promise(() => {});
      }
      yield { type: "result", result: "done", usage: {} };
    },
  };
  const host: TestHost = new TestHost({ agents: [talker({ model, firstTokenMs: 10_000, idleMs: 10_000 })] });
  await host.ask("talker", chat);
  await host.environment.advance(60_000);
  const events = await host.events(asked);
  expect(aborted).toEqual([1]);
  expect(ofType(events, "CompletionRetry")).toMatchObject([
    { error: "the model said nothing for 10000 ms", error_code: "model_unavailable" },
  ]);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "done" });
  expect(host.environment.timers).toBe(0);
});

test("no turn of many is lost in an outage of hours with a kill in it, and the limits of the model hold after it", async () => {
  const report = await runOutage(150, 2);
  expect(report).toMatchObject({ answered: 150 });
  expect(report.peakPerSecond).toBeLessThanOrEqual(2 * MODEL_LIMITS.rate.limit);
  expect(report.most).toBeLessThanOrEqual(MODEL_LIMITS.concurrency);
  expect(report.attemptsWhileAway).toBeLessThan(2 * 140 + 150);
});
