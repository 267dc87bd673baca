import { createRuntime, defineAgent, memoryLog } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { ReaderSweep } from "../../../src/runtime/queries/reader-sweep.ts";

const twice = defineAgent({
  name: "twice",
  purpose: "Says one thing now and one later.",
  async chat(_input, turn) {
    await turn.text("now");
    await turn.sleep(1_000);
    await turn.text("later");
  },
});

test("a stream gets every event of a log that sends no wakes", async () => {
  const environment = manualEnvironment();
  const log = { ...memoryLog(), reliableTail: false, tail: () => () => {} };
  const runtime = createRuntime({ agents: [twice], log, environment });
  const asked = runtime.process("twice", { type: "ChatRequest", input: "" });
  await environment.idle();
  const { requestId } = await asked;
  const feed = await runtime.follow(await runtime.resolve(requestId), { after: 0 });
  const texts: string[] = [];
  const reading = (async () => {
    for await (const { events } of feed.pages) texts.push(...events);
  })();
  await environment.idle();
  expect(texts).toHaveLength(3);

  await environment.advance(1_000);
  await environment.advance(10_000);
  await reading;
  expect(texts).toHaveLength(5);
  await runtime.close();
});

test("one timer wakes all readers in turn, and runs only while there are readers", async () => {
  const environment = manualEnvironment();
  const wakes = new ReaderSweep(environment);
  const woken = new Map<number, number>();
  const readers = Array.from({ length: 100 }, (_, index) =>
    wakes.add(() => void woken.set(index, (woken.get(index) ?? 0) + 1)),
  );
  await environment.advance(1_000);
  expect(woken.size).toBe(10);
  await environment.advance(9_000);
  expect(woken.size).toBe(100);
  await environment.advance(10_000);
  expect([...woken.values()].every((count) => count === 2)).toBe(true);

  for (const reader of readers) wakes.remove(reader);
  await environment.advance(60_000);
  expect([...woken.values()].every((count) => count === 2)).toBe(true);
});

test("a reader is woken soon although thousands of others leave in the middle of a round", async () => {
  const environment = manualEnvironment();
  const wakes = new ReaderSweep(environment);
  let count = 0;
  wakes.add(() => void (count += 1));
  const others = Array.from({ length: 5_000 }, () => wakes.add(() => {}));
  await environment.advance(1_000);
  for (const other of others) wakes.remove(other);

  await environment.advance(9_000);
  expect(count).toBe(1);
  await environment.advance(1_000);
  expect(count).toBe(2);
});
