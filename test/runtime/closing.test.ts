import { defineAgent } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { textsOf } from "../agents/events.ts";
import { World } from "./world.ts";

const asked = "asked" as RequestId;
const chat = { type: "ChatRequest", input: "", request_id: asked } as const;

const sleeper = defineAgent({
  name: "sleeper",
  purpose: "Works for a second.",
  async chat(_input, turn) {
    await turn.sleep(1_000);
    await turn.text("done");
  },
});

test("a runtime that is closed lets its turns come to their end", async () => {
  const world = new World({ agents: [sleeper] });
  await world.ask("sleeper", chat);

  let closed = false;
  const closing = world.runtime.close({ drainMs: 5_000 }).then(() => {
    closed = true;
  });
  await world.environment.advance(999);
  expect(closed).toBe(false);
  await world.environment.advance(1);
  await closing;

  expect(textsOf(await world.events(asked))).toEqual(["done"]);
  expect(world.environment.timers).toBe(0);
});

test("a runtime that is closed waits no longer than it was told, and what it cut goes on later", async () => {
  const world = new World({ agents: [sleeper] });
  await world.ask("sleeper", chat);

  const closing = world.runtime.close({ drainMs: 100 });
  await world.environment.advance(100);
  await closing;
  expect(await world.events(asked)).toHaveLength(1);

  await world.restart();
  await world.environment.advance(900);
  expect(textsOf(await world.events(asked))).toEqual(["done"]);
});

test("whoever closes a runtime a second time waits for the first time to be over", async () => {
  const world = new World({ agents: [sleeper] });
  await world.ask("sleeper", chat);

  void world.runtime.close({ drainMs: 1_000 });
  let closed = false;
  const again = world.runtime.close().then(() => {
    closed = true;
  });
  await world.environment.idle();
  expect(closed).toBe(false);
  await world.environment.advance(1_000);
  await again;
});

test("a runtime that is closing takes no more requests", async () => {
  const world = new World({ agents: [sleeper] });
  await world.runtime.ready();
  const closing = world.runtime.close();
  await expect(world.ask("sleeper", chat)).rejects.toMatchObject({ code: "unavailable" });
  await closing;
});

test("a run that cannot be read is given back, so that it can be had later", async () => {
  const world = new World({ agents: [sleeper] });
  const { runId } = await world.ask("sleeper", chat);
  await world.environment.advance(1_000);
  await world.restart();

  const released: string[] = [];
  const { read, release } = world.log;
  Object.assign(world.log, {
    read: () => Promise.reject(new Error("the disk is slow to wake")),
    release: (cursor: { readonly runId: string }) => void released.push(cursor.runId),
  });
  const again = { type: "ChatRequest", input: "", run_id: runId } as never;
  await expect(world.ask("sleeper", again)).rejects.toThrow("the disk is slow to wake");
  expect(released).toContain(runId);

  Object.assign(world.log, { read, release });
  await expect(world.ask("sleeper", again)).resolves.toMatchObject({ runId });
});
