import { AgentError, createRuntime, defineAgent } from "troupe";
import type { OwnerLimits, Principal, Runtime } from "troupe";
import { manualEnvironment } from "troupe/testing";
import type { ManualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { LimitsOfOwner } from "../../../src/runtime/owners/owner-limits.ts";

const ANN: Principal = { id: "ann", owner: "acme", roles: ["user"] };
const BOB: Principal = { id: "bob", owner: "bolt", roles: ["user"] };

/** Works until it is told to end. */
const worker = defineAgent({
  name: "worker",
  purpose: "Works, waits or asks.",
  messages: { note: z.string() },
  async chat(input, turn) {
    if (input === "ask") await turn.waitForInput({ answer: "What now?" });
    if (input === "sleep") await turn.sleep(3_600_000);
    if (input === "work") await turn.effect("work", work);
    return "done";
  },
});

/** Ends the work of each turn that works. */
let ends: (() => void)[] = [];

function work(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  ends.push(resolve);
  return promise;
}

interface Started {
  readonly runtime: Runtime;
  readonly environment: ManualEnvironment;
  readonly faults: string[];
}

async function start(owners: LimitsOfOwner): Promise<Started> {
  ends = [];
  const faults: string[] = [];
  const environment = manualEnvironment({ seed: 1 });
  const telemetry = {
    accepted() {},
    completed() {},
    committed() {},
    dropped() {},
    failed() {},
    fault: (what: string, error?: unknown) => faults.push(`${what}: ${(error as Error)?.message}`),
  };
  const runtime = createRuntime({ agents: [worker], environment, owners, telemetry });
  onTestFinished(async () => {
    const closed = runtime.close();
    await environment.idle();
    await closed;
  });
  await environment.idle();
  return { runtime, environment, faults };
}

/** Does something while the clock stands still. */
async function settled<Value>(environment: ManualEnvironment, work: Promise<Value>): Promise<Value> {
  work.catch(() => {});
  await environment.idle();
  return work;
}

async function refusal(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    const { code, message, details } = thrown;
    return { code, message, retryAfterS: details.retryAfterS };
  }
}

const ask = (runtime: Runtime, input: string): Promise<unknown> =>
  runtime.process("worker", { type: "ChatRequest", input });

test("an owner makes so many requests in a minute, and then one more after each part of it; others do not notice", async () => {
  const { runtime, environment } = await start(() => ({ requestsPerMinute: 6 }));
  const own = runtime.as(ANN);
  for (let made = 0; made < 6; made += 1) await settled(environment, ask(own, "hi"));
  expect(await refusal(settled(environment, ask(own, "hi")))).toEqual({
    code: "overloaded",
    message: "acme has reached its limit of 6 requests in a minute",
    retryAfterS: 10,
  });
  await settled(environment, ask(runtime.as(BOB), "hi"));
  await environment.advance(9_999);
  expect(await refusal(settled(environment, ask(own, "hi")))).toMatchObject({ code: "overloaded" });
  await environment.advance(1);
  await settled(environment, ask(own, "hi"));
  expect(await refusal(settled(environment, ask(own, "hi")))).toMatchObject({ retryAfterS: 10 });
});

test("a request that is repeated by its id, an answer and a cancel are not counted", async () => {
  const { runtime, environment } = await start(() => ({ requestsPerMinute: 2 }));
  const own = runtime.as(ANN);
  const asked = { type: "ChatRequest", input: "ask", request_id: "one" } as const;
  await settled(environment, own.process("worker", asked));
  for (let again = 0; again < 5; again += 1)
    expect(await settled(environment, own.process("worker", asked))).toMatchObject({ replayed: true });
  await settled(environment, own.process("worker", { ...asked, request_id: "two" }));
  expect(await refusal(settled(environment, ask(own, "hi")))).toMatchObject({ code: "overloaded" });
  const answer = { type: "ResumeWithInput", request_id: "one", request_keys: { answer: "go" } } as const;
  await settled(environment, own.process("worker", answer));
  await settled(environment, own.process("worker", { type: "CancelRequest", request_id: "two" }));
});

test("turns that work count, and those that wait, sleep or have ended do not", async () => {
  const { runtime, environment } = await start(() => ({ openTurns: 2 }));
  const own = runtime.as(ANN);
  for (const input of ["ask", "sleep", "hi", "work", "work"]) await settled(environment, ask(own, input));
  const full = {
    code: "overloaded",
    message: "acme has reached its limit of 2 open turns",
    retryAfterS: 2,
  };
  expect(await refusal(settled(environment, ask(own, "work")))).toEqual(full);
  await settled(environment, ask(runtime.as(BOB), "work"));
  ends[0]?.();
  await environment.idle();
  await settled(environment, ask(own, "work"));
  expect(await refusal(settled(environment, ask(own, "hi")))).toEqual(full);
});

test("a turn that is queued counts, and a refused one leaves nothing behind", async () => {
  const { runtime, environment } = await start(() => ({ openTurns: 2 }));
  const own = runtime.as(ANN);
  const keyed = { type: "ChatRequest", input: "work", key: "k" } as const;
  await settled(environment, own.process("worker", keyed));
  await settled(environment, own.process("worker", keyed));
  expect(await refusal(settled(environment, own.process("worker", keyed)))).toMatchObject({
    code: "overloaded",
  });
  expect(await refusal(settled(environment, ask(own, "hi")))).toMatchObject({ code: "overloaded" });
  expect((await own.runs({ limit: 10 })).runs).toHaveLength(1);
  for (let turn = 0; turn < 2; turn += 1) {
    ends[turn]?.();
    await environment.idle();
  }
  await settled(environment, ask(own, "hi"));
});

test("what an owner has stored is counted, and a removal makes room", async () => {
  const { runtime, environment } = await start(() => ({ storedBytes: 20_000 }));
  const own = runtime.as(ANN);
  await settled(environment, ask(own, "x".repeat(15_000)));
  await environment.advance(60_000);
  const full = {
    code: "insufficient_storage",
    message: "the runs and files of acme have reached their limit of 20000 bytes",
    retryAfterS: 60,
  };
  expect(await refusal(settled(environment, ask(own, "hi")))).toEqual(full);
  const file = { name: "a.txt", mimeType: "text/plain", body: bytes(10), limitBytes: 100 };
  expect(await refusal(settled(environment, own.upload(file)))).toEqual(full);
  await settled(environment, ask(runtime.as(BOB), "hi"));
  const { runs } = await own.runs({ limit: 10 });
  await settled(environment, own.removeRun(runs[0]?.run_id ?? ""));
  await environment.advance(5_000);
  await settled(environment, ask(own, "hi"));
});

async function* bytes(count: number): AsyncGenerator<Uint8Array, void> {
  for (let left = count; left > 0; left -= 10) yield new Uint8Array(Math.min(10, left));
}

test("files that no request has attached have a limit, which counts while they arrive; attaching makes room", async () => {
  const { runtime, environment } = await start(() => ({ uploadBytes: 100 }));
  const own = runtime.as(ANN);
  const upload = (size: number): Promise<{ readonly artifactId: string }> =>
    settled(
      environment,
      own.upload({ name: "a.txt", mimeType: "text/plain", body: bytes(size), limitBytes: 1_000 }),
    );
  const { artifactId } = await upload(70);
  expect(await refusal(upload(40))).toEqual({
    code: "insufficient_storage",
    message: "the files of acme that no request has attached have reached their limit of 100 bytes",
    retryAfterS: 60,
  });
  // A refused file does not count.
  await upload(30);
  expect(await refusal(upload(10))).toMatchObject({ code: "insufficient_storage" });
  const request = { type: "ChatRequest", input: "hi", attachments: [artifactId] } as const;
  await settled(environment, own.process("worker", request));
  await upload(60);
});

test("the function is called once in a while for each owner, and also if it answers later", async () => {
  const asked: string[] = [];
  const { runtime, environment } = await start(async (owner) => {
    asked.push(owner);
    return { requestsPerMinute: 1_000 };
  });
  await settled(
    environment,
    Promise.all([ANN, BOB, ANN].flatMap((who) => [ask(runtime.as(who), "hi"), ask(runtime.as(who), "ask")])),
  );
  expect(asked.toSorted()).toEqual(["acme", "bolt"]);
  await environment.advance(10_000);
  await settled(environment, ask(runtime.as(ANN), "hi"));
  expect(asked).toHaveLength(3);
});

const faulty: readonly [string, () => unknown, string][] = [
  [
    "throws",
    () => {
      throw new Error("no database");
    },
    "no database",
  ],
  [
    "rejects",
    async () => {
      throw new Error("no database");
    },
    "no database",
  ],
  ["returns a text", () => "100", "the limits are no object"],
  ["returns null", () => null, "the limits are no object"],
  ["misspells a limit", () => ({ requestPerMinute: 1 }), "there is no limit requestPerMinute; there are"],
  [
    "returns a text as a number",
    () => ({ openTurns: "3" }),
    "the limit openTurns is not a number of 0 or more",
  ],
  [
    "returns a negative number",
    () => ({ openTurns: -1 }),
    "the limit openTurns is not a number of 0 or more",
  ],
  ["returns NaN", () => ({ storedBytes: Number.NaN }), "the limit storedBytes is not a number of 0 or more"],
  [
    "names no approvers",
    () => ({ tokensPerDay: 1, budgetApprovers: [] }),
    "budgetApprovers are not 1 to 20 roles, each of 1 to 64 visible ASCII characters",
  ],
  ["never answers", () => new Promise(() => {}), "it took longer than 10000 ms"],
];

test.each(faulty)(
  "a function that %s has requests refused with a reason, and nothing is lost",
  async (_, fail, message) => {
    let isFixed = false;
    const owners = (): OwnerLimits => (isFixed ? { openTurns: 5 } : (fail() as OwnerLimits));
    const { runtime, environment, faults } = await start(owners);
    const asked = ask(runtime.as(ANN), "hi");
    asked.catch(() => {});
    await environment.idle();
    await environment.advance(10_000);
    expect(await refusal(asked)).toEqual({
      code: "unavailable",
      message: "the limits of acme are not known: the function for them failed",
      retryAfterS: 1,
    });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain("the function for the limits of owners failed for acme");
    expect(faults[0]).toContain(message);
    isFixed = true;
    await environment.advance(1_000);
    await settled(environment, ask(runtime.as(ANN), "hi"));
  },
);

test("limits that are known stay when the function fails later", async () => {
  let fails = false;
  const { runtime, environment, faults } = await start(() => {
    if (fails) throw new Error("no database");
    return { openTurns: 1 };
  });
  const own = runtime.as(ANN);
  await settled(environment, ask(own, "work"));
  fails = true;
  await environment.advance(10_000);
  expect(await refusal(settled(environment, ask(own, "hi")))).toMatchObject({ code: "overloaded" });
  expect(faults).toHaveLength(1);
});

test("a limit of 0 admits nothing, and an owner without limits everything", async () => {
  const { runtime, environment } = await start((owner) =>
    owner === "acme" ? { requestsPerMinute: 0 } : undefined,
  );
  expect(await refusal(settled(environment, ask(runtime.as(ANN), "hi")))).toMatchObject({
    code: "overloaded",
    retryAfterS: 60,
  });
  for (let made = 0; made < 50; made += 1) await settled(environment, ask(runtime.as(BOB), "hi"));
});
