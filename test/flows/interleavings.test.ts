import assert from "node:assert/strict";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { servers } from "./server.ts";
import { runsLong, shortened } from "../machine/long.ts";

/** The actions of a random client: the request it refers to, and whether it waits for the answer. */
const move = fc.record({
  kind: fc.constantFrom("pay", "talk", "interrupt", "approve", "decline", "cancel", "configure"),
  at: fc.nat(20),
  awaited: fc.boolean(),
});
type Move = typeof move extends fc.Arbitrary<infer Value> ? Value : never;

test.each(shortened(servers, 1))(
  "on %s, random concurrent requests, answers and cancels in a run leave ids without gaps and one end per turn",
  { timeout: 300_000 },
  async (_, start) => {
    const server = await start();
    onTestFinished(() => server.close());
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 1, maxLength: 25 }), async (moves) => {
        const client = new CarelessClient(server.url);
        await client.start();
        const unawaited: Promise<void>[] = [];
        for (const each of moves) {
          const answered = client.make(each);
          if (each.awaited) await answered;
          else unawaited.push(answered);
        }
        await Promise.all(unawaited);
        const events = await client.end();
        expect(events.map(({ id }) => id)).toEqual(events.map((_event, index) => index + 1));
        for (const requestId of client.accepted) {
          checkTurn(events.filter(({ request_id }) => request_id === requestId));
        }
        checkOrder(events);
      }),
      { numRuns: runsLong ? 60 : 15 },
    );
  },
);

interface WireEvent {
  readonly id: number;
  readonly type: string;
  readonly request_id: string;
  readonly wait_id?: number;
  readonly finish_reason?: string;
}

class CarelessClient {
  readonly accepted: string[] = [];
  readonly #url: string;
  #runId = "";

  constructor(url: string) {
    this.#url = url;
  }

  async start(): Promise<void> {
    const { body } = await this.#post({ type: "ChatRequest", input: "hello" }, "?wait=completed");
    this.#runId = body["run_id"] ?? "";
    this.accepted.push(body["request_id"] ?? "");
  }

  async make({ kind, at, awaited }: Move): Promise<void> {
    const request_id = this.accepted[at % this.accepted.length];
    const run_id = this.#runId;
    if (kind === "pay" || kind === "talk" || kind === "interrupt") {
      const input = kind === "talk" ? "hello" : `pay ${at + 1} to bob`;
      const on_busy = kind === "interrupt" ? "interrupt" : "enqueue";
      const { status, body } = await this.#post({ type: "ChatRequest", input, run_id, on_busy });
      assert(status === 202 || status === 429, `${kind} was answered with ${status}`);
      if (status === 202) this.accepted.push(body["request_id"] ?? "");
      return;
    }
    const requests = {
      approve: { type: "ResumeWithInput", request_id, request_keys: { approved: true } },
      decline: { type: "ResumeWithInput", request_id, request_keys: { approved: false } },
      cancel: { type: "CancelRequest", request_id },
      configure: { type: "ConfigureRequest", args: { at }, run_id },
    };
    const { status } = await this.#post(requests[kind], awaited ? "?wait=true" : "");
    assert(status < 300 || status === 409, `${kind} was answered with ${status}`);
  }

  /** Cancels open requests and returns the history. */
  async end(): Promise<WireEvent[]> {
    for (const request_id of this.accepted) {
      const { status, body } = await this.#post({ type: "CancelRequest", request_id }, "?wait=true");
      assert.deepEqual([status, body["type"]], [200, "RequestCompleted"]);
    }
    const response = await fetch(`${this.#url}/getevents/${this.#runId}?since=0`);
    return (await response.json()) as WireEvent[];
  }

  async #post(request: unknown, query = ""): Promise<{ status: number; body: Record<string, string> }> {
    const response = await fetch(`${this.#url}/payments/process${query}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  }
}

/** A turn has one start, at its beginning, one end, at its end, and at most one answer for each wait. */
function checkTurn(events: readonly WireEvent[]): void {
  const types = events.map(({ type }) => type);
  const brackets = types.filter((type) => type === "RequestStarted" || type === "RequestCompleted");
  expect(brackets).toEqual(["RequestStarted", "RequestCompleted"]);
  expect([types[0], types.at(-1)]).toEqual(brackets);
  const reasons = types.includes("CancelRequest") ? ["canceled"] : ["success", "canceled"];
  expect(reasons).toContain(events.at(-1)?.finish_reason);
  const answers = events.filter(({ type }) => type === "ResumeWithInput").map(({ wait_id }) => wait_id);
  const waits = events.filter(({ type }) => type === "WaitForInput").map(({ wait_id }) => wait_id);
  expect(new Set(answers).size).toBe(answers.length);
  expect(waits).toEqual(expect.arrayContaining(answers));
}

/** Turns follow one another; only a request canceled in the queue can be between another request's events. */
function checkOrder(events: readonly WireEvent[]): void {
  const ran = new Set(events.filter(({ type }) => !BRACKETS.has(type)).map(({ request_id }) => request_id));
  const order = events.map(({ request_id }) => request_id).filter((requestId) => ran.has(requestId));
  const changes = order.filter((requestId, index) => requestId !== order[index - 1]);
  expect(changes).toEqual([...new Set(changes)]);
}

const BRACKETS: ReadonlySet<string> = new Set(["RequestStarted", "CancelRequest", "RequestCompleted"]);
