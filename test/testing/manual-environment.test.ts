import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";

test("timers fire only when time advances, in the order of their due times", async () => {
  const environment = manualEnvironment();
  const fired: number[] = [];
  for (const ms of [30, 10, 20]) environment.timer(ms, () => fired.push(ms));

  await environment.idle();
  expect(fired).toEqual([]);
  expect(environment.nextTimerMs).toBe(10);

  await environment.advance(20);
  expect(fired).toEqual([10, 20]);
  expect(environment.timers).toBe(1);
});

test("a timer that is stopped does not fire", async () => {
  const environment = manualEnvironment();
  const fired: string[] = [];
  const stop = environment.timer(10, () => fired.push("stopped"));
  stop();
  await environment.advance(100);
  expect(fired).toEqual([]);
});

test("a timer set by another one fires in the same advance if it is due in it", async () => {
  const environment = manualEnvironment({ startMs: 1_000 });
  const fired: number[] = [];
  environment.timer(10, () => {
    environment.timer(10, () => fired.push(environment.now()));
  });
  await environment.advance(25);
  expect(fired).toEqual([1_020]);
  expect(environment.now()).toBe(1_025);
});

test("it is idle when all macrotasks, and those they start, have run", async () => {
  const environment = manualEnvironment();
  const ran: number[] = [];
  environment.macrotask(() => {
    ran.push(1);
    void Promise.resolve().then(() => environment.macrotask(() => ran.push(2)));
  });
  await environment.idle();
  expect(ran).toEqual([1, 2]);
});

test("a seed determines the order of macrotasks, and 0 keeps it", async () => {
  const orderOf = async (seed: number): Promise<readonly number[]> => {
    const environment = manualEnvironment({ seed });
    const ran: number[] = [];
    for (let task = 0; task < 8; task += 1) environment.macrotask(() => ran.push(task));
    await environment.idle();
    return ran;
  };
  expect(await orderOf(0)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(await orderOf(7)).toEqual(await orderOf(7));
  expect(await orderOf(7)).not.toEqual(await orderOf(8));
});

test("an alarm follows the clock when it is set forward, and keeps its duration when it is set back", async () => {
  const environment = manualEnvironment({ startMs: 0 });
  const fired: string[] = [];
  environment.timer(100, () => fired.push("timer"));
  environment.alarm(1_000, () => fired.push("over"));
  environment.alarm(2_500, () => fired.push("later"));
  environment.step(2_000);
  await environment.advance(0);
  expect([environment.now(), fired]).toEqual([2_000, ["over"]]);
  environment.step(-1_000);
  await environment.advance(499);
  expect(fired).toEqual(["over", "timer"]);
  await environment.advance(1);
  expect(fired).toEqual(["over", "timer", "later"]);
});
