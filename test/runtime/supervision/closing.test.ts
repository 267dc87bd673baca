import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Agent, AgentError } from "troupe";
import { beforeEach, expect, test } from "vitest";
import { textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

/** Works for one second of the simulated time. */
const worker = defineAgent({
  name: "worker",
  purpose: "Works for a second.",
  async chat(_input, turn) {
    const work = (): Promise<void> =>
      new Promise((resolve) => {
        host.environment.timer(1_000, resolve);
      });
    await turn.effect("work", work, { effect: "idempotent" });
    await turn.text("done");
  },
});

let host: TestHost;

beforeEach(() => {
  host = new TestHost({ agents: [worker, sleeper] });
});

const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Sleeps for a second.",
  async chat(_input, turn) {
    await turn.sleep(1_000);
    await turn.text("done");
  },
});

test("a closing runtime lets its turns end", async () => {
  await host.ask("worker", chat);

  let closed = false;
  const closing = host.runtime.close({ drainMs: 5_000 }).then(() => {
    closed = true;
  });
  await host.environment.advance(999);
  expect(closed).toBe(false);
  await host.environment.advance(1);
  await closing;

  expect(textsOf(await host.events(asked))).toEqual(["done"]);
  expect(host.environment.timers).toBe(0);
});

test("a closing runtime waits up to its limit, and interrupted turns continue later", async () => {
  await host.ask("worker", chat);

  const closing = host.runtime.close({ drainMs: 100 });
  await host.environment.advance(100);
  await closing;
  expect(textsOf(await host.events(asked))).toEqual([]);

  await host.restart();
  await host.environment.advance(1_000);
  expect(textsOf(await host.events(asked))).toEqual(["done"]);
});

test("a closing runtime without a limit waits for no turn, also while its clock stands still", async () => {
  await host.ask("worker", chat);
  await host.runtime.close();
  expect(textsOf(await host.events(asked))).toEqual([]);

  await host.restart();
  await host.environment.advance(1_000);
  expect(textsOf(await host.events(asked))).toEqual(["done"]);
});

test("a closing runtime does not wait for a sleeping turn, which continues its sleep later", async () => {
  await host.ask("sleeper", chat);
  await host.environment.advance(600);
  await host.runtime.close({ drainMs: 5_000 });

  await host.restart();
  await host.environment.advance(399);
  expect(textsOf(await host.events(asked))).toEqual([]);
  await host.environment.advance(1);
  expect(textsOf(await host.events(asked))).toEqual(["done"]);
});

test("a second close waits for the first one", async () => {
  await host.ask("worker", chat);

  void host.runtime.close({ drainMs: 1_000 });
  let closed = false;
  const again = host.runtime.close().then(() => {
    closed = true;
  });
  await host.environment.idle();
  expect(closed).toBe(false);
  await host.environment.advance(1_000);
  await again;
});

test("a closing runtime accepts no requests", async () => {
  await host.runtime.ready();
  const closing = host.runtime.close();
  await expect(host.ask("worker", chat)).rejects.toMatchObject({ code: "unavailable" });
  await closing;
});

test("a run that cannot be read is released, so that it can be claimed later", async () => {
  const { runId } = await host.ask("worker", chat);
  await host.environment.advance(1_000);
  await host.restart();

  const released: string[] = [];
  const { read, release } = host.log;
  Object.assign(host.log, {
    read: () => Promise.reject(new Error("the disk is slow to wake")),
    release: (cursor: { readonly runId: string }) => void released.push(cursor.runId),
  });
  const again = { type: "ChatRequest", input: "", run_id: runId } as never;
  await expect(host.ask("worker", again)).rejects.toMatchObject({
    code: "internal",
    cause: new Error("the disk is slow to wake"),
  });
  expect(released).toContain(runId);

  Object.assign(host.log, { read, release });
  await expect(host.ask("worker", again)).resolves.toMatchObject({ runId });
});

test("a request that arrives while the runtime starts is refused when the runtime closes", async () => {
  const { ran, noting } = notes();
  // The log survives the runtime, so that a commit after the close succeeds.
  const runtime = createRuntime({ agents: [noting], log: { ...memoryLog(), close: async () => {} } });
  const asking = codeOf(runtime.process("noting", { type: "ChatRequest", input: "early" }));

  await runtime.close();

  expect(await asking).toBe("unavailable");
  expect(ran).toEqual([]);
});

test("a request whose run is being loaded is refused when the runtime closes", async () => {
  const { ran, noting } = notes();
  const log = memoryLog();
  const claimed = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const runtime = createRuntime({
    agents: [noting],
    log: {
      ...log,
      close: async () => {},
      async claim(runId) {
        claimed.resolve();
        await release.promise;
        return log.claim(runId);
      },
    },
  });
  await runtime.ready();
  const asking = codeOf(runtime.process("noting", { type: "ChatRequest", input: "late" }));
  await claimed.promise;

  const closing = runtime.close();
  // After two turns of the event loop, everything that does not wait for the claim is done.
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  release.resolve();
  await closing;

  expect(await asking).toBe("unavailable");
  expect(ran).toEqual([]);
});

/** An agent that records its inputs. */
function notes(): { readonly ran: readonly string[]; readonly noting: Agent } {
  const ran: string[] = [];
  const noting = defineAgent({
    name: "noting",
    purpose: "Notes that it ran.",
    chat(input) {
      ran.push(input);
      return "done";
    },
  });
  return { ran, noting };
}

/** The error code of a failed request; `undefined` if it is accepted. */
async function codeOf(asking: Promise<unknown>): Promise<string | undefined> {
  return asking.then(
    () => undefined,
    (error: unknown) => (error as AgentError).code,
  );
}
