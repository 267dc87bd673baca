import { createRuntime } from "troupe";
import { expect, onTestFinished, test } from "vitest";
import { TestHost } from "../test-host.ts";
import { list, user } from "./agents.ts";

test("code outside of turns asks and tells an actor by its key", async () => {
  const runtime = createRuntime({ agents: [list, user] });
  onTestFinished(() => runtime.close());
  const shop = runtime.actor(list, "shop");
  expect(await shop.get()).toBeUndefined();
  expect(await shop.ask("add", { item: "a" })).toBe(1);
  const told = await shop.tell("add", { item: "b" });
  expect(await shop.ask("all", {})).toEqual({ items: ["a", "b"] });
  expect(await shop.get()).toMatchObject({ run_id: told.runId, key: "shop", turns: 3, status: "idle" });
});

test("a failed turn throws call_failed, and a repeated request id asks once", async () => {
  const { runtime } = new TestHost({ agents: [list, user] });
  const shop = runtime.actor(list, "shop");
  await expect(shop.ask("fail", {})).rejects.toMatchObject({
    code: "call_failed",
    message: "the list is broken",
  });
  expect(await shop.ask("add", { item: "a" }, { requestId: "once" })).toBe(1);
  expect(await shop.ask("add", { item: "a" }, { requestId: "once" })).toBe(1);
});

test("an ask with a time limit leaves the turn alone", async () => {
  const host = new TestHost({ agents: [list, user] });
  const held = host.runtime.actor(list, "shop").ask("hold", {}, { requestId: "held", timeoutMs: 1_000 });
  held.catch(() => {});
  await host.environment.idle();
  await host.environment.advance(1_000);
  await expect(held).rejects.toMatchObject({ code: "timeout" });
  expect(await host.runtime.status("held")).toMatchObject({ status: "waiting" });
});

test("a key of wrong form and an agent that is not served are refused", async () => {
  const { runtime } = new TestHost({ agents: [list] });
  await expect(runtime.actor(list, "a b").ask("all", {})).rejects.toMatchObject({ code: "invalid_request" });
  expect(() => runtime.actor(user, "ada")).toThrow("there is no agent user");
});
