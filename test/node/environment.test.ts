import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, expect, test, vi } from "vitest";
import { currentTurn, nodeEnvironment } from "../../src/node/environment.ts";
import { isId } from "../../src/protocol/ids.ts";
import type { RequestId, RunId } from "../../src/protocol/ids.ts";

const turn = { runId: "run" as RunId, requestId: "request" as RequestId };

afterEach(() => {
  vi.useRealTimers();
});

test("a timer can be longer than Node's timers", () => {
  vi.useFakeTimers();
  const tenWeeksMs = 70 * 24 * 3_600_000;
  const fire = vi.fn<() => void>();
  nodeEnvironment().timer(tenWeeksMs, fire);

  vi.advanceTimersByTime(tenWeeksMs - 1);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fire).toHaveBeenCalledOnce();
});

test("no timer fires before its time", async () => {
  const { monotonic, timer } = nodeEnvironment();
  const late = Array.from({ length: 200 }, async (_, index) => {
    const ms = 1 + index / 10;
    const start = monotonic();
    await new Promise<void>((resolve) => {
      timer(ms, resolve);
    });
    return monotonic() - start - ms;
  });
  expect(Math.min(...(await Promise.all(late)))).toBeGreaterThanOrEqual(0);
});

test(
  "the process ends without a timer in the background, and waits for any other",
  { tags: "long" },
  async () => {
    const program = `import { nodeEnvironment } from "troupe/node";
    const { timer } = nodeEnvironment();
    timer(50, () => console.log("fired"));
    timer(3_600_000, () => console.log("in the background"), { background: true });`;
    const args = ["--conditions=troupe-source", "--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toBe("fired\n");
  },
);

test("a timer whose time has passed fires, and the process prints no warning", { tags: "long" }, async () => {
  const program = `import { nodeEnvironment } from "troupe/node";
    nodeEnvironment().timer(-6, () => console.log("fired"));`;
  const flags = [
    "--conditions=troupe-source",
    "--disable-warning=ExperimentalWarning",
    "--input-type=module",
  ];
  // Node prints the warning once in a process.
  const printed = await promisify(execFile)(process.execPath, [...flags, "--eval", program]);
  expect(printed).toEqual({ stdout: "fired\n", stderr: "" });
});

test("a stopped timer does not fire, at any time", () => {
  vi.useFakeTimers();
  const fire = vi.fn<() => void>();
  const stop = nodeEnvironment().timer(3_000_000_000, fire);

  vi.advanceTimersByTime(2_900_000_000);
  stop();
  vi.advanceTimersByTime(1_000_000_000);
  expect(fire).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

test("a macrotask runs after all microtasks", async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    nodeEnvironment().macrotask(() => {
      order.push("macrotask");
      resolve();
    });
    void Promise.resolve()
      .then(() => order.push("microtask"))
      .then(() => order.push("microtask after it"));
  });

  expect(order).toEqual(["microtask", "microtask after it", "macrotask"]);
});

test("new ids are valid, have 21 characters, and differ", () => {
  const environment = nodeEnvironment();
  const ids = Array.from({ length: 1_000 }, () => environment.newId());

  expect(new Set(ids).size).toBe(1_000);
  expect(ids.every((id) => isId(id) && id.length === 21)).toBe(true);
});

test("an id that is made later sorts behind", () => {
  vi.useFakeTimers();
  const { newId } = nodeEnvironment();
  const id = newId();
  vi.advanceTimersByTime(1);
  expect(newId() > id).toBe(true);
});

test("asynchronous code of a turn is attributed to it", async () => {
  const environment = nodeEnvironment();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const answer = environment.attribute(turn, () => {
    setTimeout(() => resolve(currentTurn()), 0);
    return "at once";
  });

  expect(answer).toBe("at once");
  expect(currentTurn()).toBeUndefined();
  expect(await promise).toBe(turn);
});

test("alarms fire soon after the clock has jumped over their time, each once, and the others in time", async () => {
  vi.useFakeTimers();
  const hourMs = 3_600_000;
  const { alarm } = nodeEnvironment();
  const [over, later, stopped] = [vi.fn<() => void>(), vi.fn<() => void>(), vi.fn<() => void>()];
  const startMs = Date.now();
  alarm(startMs + hourMs, over);
  alarm(startMs + 4 * hourMs, later);
  const stop = alarm(startMs + hourMs, stopped);

  vi.setSystemTime(startMs + 3 * hourMs);
  stop();
  vi.advanceTimersByTime(60_000);
  expect([over, later, stopped].map((fire) => fire.mock.calls.length)).toEqual([1, 0, 0]);
  vi.advanceTimersByTime(hourMs - 60_001);
  expect(later).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5_000);
  expect([over, later].map((fire) => fire.mock.calls.length)).toEqual([1, 1]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a clock that is set back does not extend the time until an alarm", () => {
  vi.useFakeTimers();
  const fire = vi.fn<() => void>();
  nodeEnvironment().alarm(Date.now() + 60_000, fire);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(60_000);
  expect(fire).toHaveBeenCalledOnce();
});

test("an id can be an argument of a command: it does not begin like an option", () => {
  const { newId } = nodeEnvironment();
  for (let times = 0; times < 2_000; times += 1) expect(newId()).toMatch(/^[A-Za-z0-9_][\w-]{20}$/);
});
