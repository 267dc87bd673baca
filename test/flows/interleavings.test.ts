import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServer } from "./server.ts";

let server: { url: string; close(): Promise<void> };
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

/** What a careless client does: which of its requests it means, and whether it waits for the answer. */
const move = fc.record({
  kind: fc.constantFrom("pay", "talk", "interrupt", "approve", "decline", "cancel", "configure"),
  at: fc.nat(20),
  awaited: fc.boolean(),
});
type Move = typeof move extends fc.Arbitrary<infer Value> ? Value : never;

test(
  "whatever is asked, answered and canceled at once in a run, its ids have no gap and each turn ends once",
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 1, maxLength: 25 }), async (moves) => {
        const run = new CarelessRun();
        await run.start();
        const unawaited: Promise<void>[] = [];
        for (const each of moves) {
          const answered = run.make(each);
          if (each.awaited) await answered;
          else unawaited.push(answered);
        }
        await Promise.all(unawaited);
        const events = await run.end();
        expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
        for (const requestId of run.accepted)
          checkTurn(events.filter(({ request_id }) => request_id === requestId));
        checkOrder(events);
      }),
      { numRuns: 60 },
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

class CarelessRun {
  readonly accepted: string[] = [];
  #runId = "";

  async start(): Promise<void> {
    const { body } = await post({ type: "ChatRequest", input: "hello" }, "?wait=completed");
    this.#runId = body["run_id"] ?? "";
    this.accepted.push(body["request_id"] ?? "");
  }

  async make({ kind, at, awaited }: Move): Promise<void> {
    const wait = awaited ? "?wait=true" : "";
    const request_id = this.accepted[at % this.accepted.length];
    if (kind === "cancel") return void (await post({ type: "CancelRequest", request_id }, wait));
    if (kind === "configure") {
      return void (await post({ type: "ConfigureRequest", args: { at }, run_id: this.#runId }, wait));
    }
    if (kind === "approve" || kind === "decline") {
      const request_keys = { approved: kind === "approve" };
      return void (await post({ type: "ResumeWithInput", request_id, request_keys }, wait));
    }
    const { status, body } = await post({
      type: "ChatRequest",
      input: kind === "talk" ? "hello" : `pay ${at + 1} to bob`,
      run_id: this.#runId,
      on_busy: kind === "interrupt" ? "interrupt" : "enqueue",
    });
    expect([202, 409, 429]).toContain(status);
    if (status === 202) this.accepted.push(body["request_id"] ?? "");
  }

  /** Cancels what is left, and gives the history. */
  async end(): Promise<WireEvent[]> {
    for (const request_id of this.accepted) {
      const { status, body } = await post({ type: "CancelRequest", request_id }, "?wait=true");
      expect([status, body["type"]]).toEqual([200, "RequestCompleted"]);
    }
    const response = await fetch(`${server.url}/getevents/${this.#runId}?since=0`);
    return (await response.json()) as WireEvent[];
  }
}

/** A turn starts once and first, ends once and last, and takes one answer for each wait at most. */
function checkTurn(events: readonly WireEvent[]): void {
  const types = events.map(({ type }) => type);
  expect(types[0]).toBe("RequestStarted");
  expect(types.at(-1)).toBe("RequestCompleted");
  for (const type of ["RequestStarted", "RequestCompleted"]) {
    expect(types.filter((each) => each === type)).toHaveLength(1);
  }
  const reason = events.at(-1)?.finish_reason;
  if (types.includes("CancelRequest")) expect(reason).toBe("canceled");
  else expect(["success", "canceled"]).toContain(reason);
  const answers = events.filter(({ type }) => type === "ResumeWithInput").map(({ wait_id }) => wait_id);
  const waits = events.filter(({ type }) => type === "WaitForInput").map(({ wait_id }) => wait_id);
  expect(new Set(answers).size).toBe(answers.length);
  expect(waits).toEqual(expect.arrayContaining(answers));
}

/** Turns follow one another; only a request that was canceled in the queue may stand within another's events. */
function checkOrder(events: readonly WireEvent[]): void {
  const ran = new Set(events.filter(({ type }) => !BRACKETS.has(type)).map(({ request_id }) => request_id));
  let open: string | undefined;
  for (const { type, request_id } of events) {
    if (!ran.has(request_id)) continue;
    if (type === "RequestStarted") {
      expect(open).toBeUndefined();
      open = request_id;
    }
    expect(request_id).toBe(open);
    if (type === "RequestCompleted") open = undefined;
  }
}

const BRACKETS: ReadonlySet<string> = new Set(["RequestStarted", "CancelRequest", "RequestCompleted"]);

async function post(request: unknown, query = ""): Promise<{ status: number; body: Record<string, string> }> {
  const response = await fetch(`${server.url}/payments/process${query}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}
