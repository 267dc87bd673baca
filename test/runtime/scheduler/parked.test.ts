import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

const DAY_MS = 86_400_000;

function agentOf(run: Parameters<typeof defineAgent>[0]["chat"]) {
  return defineAgent({ name: "agent", purpose: "Waits in some way.", chat: run as never });
}

test("a turn whose open calls are a wait and a sleep is waiting", async () => {
  const agent = agentOf(async (_input, turn) => {
    await Promise.race([turn.sleep(DAY_MS), turn.waitForInput({ name: "Your name?" })]);
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  const [wait] = ofType(await host.events(asked), "WaitForInput");

  expect(await host.runtime.status(asked)).toMatchObject({
    status: "waiting",
    request_keys: { name: "Your name?" },
    waiting_for: { kind: "input", wait_id: wait?.id },
  });
  expect(await host.log.open()).toEqual([]);
});

test("a turn that only sleeps is running, and its status says until when", async () => {
  const agent = agentOf(async (_input, turn) => turn.sleep(DAY_MS));
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  const until = new Date(host.environment.now() + DAY_MS).toISOString();

  const status = await host.runtime.status(asked);
  expect(status).toMatchObject({ status: "running", waiting_for: { kind: "sleep", expires_at: until } });
  expect(status).not.toHaveProperty("request_keys");
  await host.environment.advance(DAY_MS);
  expect(await host.runtime.status(asked)).not.toHaveProperty("waiting_for");
});

test("a turn that works beside its wait is running until the work has ended", async () => {
  const work = Promise.withResolvers<void>();
  const agent = agentOf(async (_input, turn) => {
    const answer = turn.waitForInput({ name: "Your name?" });
    await turn.effect("work", () => work.promise);
    await answer;
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "running" });

  work.resolve();
  await host.environment.idle();
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
});

test.each([0, 1_000])(
  "a waiting turn whose sleep ends continues, with %s runs in memory",
  async (idleRuns) => {
    const agent = agentOf(async (_input, turn) => {
      const answer = turn.waitForInput({ name: "Your name?" });
      await turn.sleep(DAY_MS);
      await turn.text("Still there?");
      await answer;
    });
    const host = new TestHost({ agents: [agent], limits: { idleRuns } });
    await host.ask("agent", chat);
    expect(host.runtime.health().activeRuns).toBe(idleRuns > 0 ? 1 : 0);
    await host.environment.advance(DAY_MS - 1);
    expect(ofType(await host.events(asked), "TextOutput")).toEqual([]);

    await host.environment.advance(1);
    expect(ofType(await host.events(asked), "TextOutput")).toHaveLength(1);
    expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
  },
);

test("a waiting turn whose sleep ended while no process ran continues at the next start", async () => {
  const agent = agentOf(async (_input, turn) => {
    const answer = turn.waitForInput({ name: "Your name?" });
    await turn.sleep(1_000);
    await turn.text("Still there?");
    await answer;
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("agent", chat);
  host.crash();
  await host.environment.advance(DAY_MS);

  await host.restart();
  await host.environment.advance(0);
  expect(ofType(await host.events(asked), "TextOutput")).toHaveLength(1);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
});
