import type { RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { TestHost } from "../test-host.ts";
import { peer } from "./agents.ts";

/** For each key, two actors ask each other, and rest. */
async function restCycles(host: TestHost, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    for (const [from, to] of [
      ["a", "b"],
      ["b", "a"],
    ] as const)
      await host.ask("peer", {
        type: "OperationRequest",
        operation: "ask_after",
        input: { ms: 10, to: `${key}-${to}` },
        request_id: `${key}-${from}`,
        key: `${key}-${from}`,
      });
  }
  await host.environment.advance(10);
  await host.environment.advance(1_000);
}

/** Ends the process before it has noticed a cycle, and starts it again. From now on these runs cannot be loaded. */
async function restartWithout(host: TestHost, keys: readonly string[]): Promise<void> {
  const runIds = await Promise.all(keys.map((key) => host.runtime.find("peer", key)));
  const { claim } = host.log;
  Object.assign(host.log, {
    claim: (runId: RunId) =>
      runIds.includes(runId) ? Promise.reject(new Error("the run is damaged")) : claim(runId),
  });
  await host.restart();
}

async function advance(host: TestHost, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) await host.environment.advance(1_000);
}

test.each(["a", "b"])(
  "a cycle of actors is broken at another one if the run of %s is damaged",
  async (key) => {
    const host = new TestHost({ agents: [peer] });
    await restCycles(host, ["cycle"]);
    await restartWithout(host, [`cycle-${key}`]);
    await advance(host, 30);
    const other = key === "a" ? "cycle-b" : "cycle-a";
    expect(await host.runtime.status(other)).toMatchObject({ status: "completed" });
    const errors = (await host.events(other)).filter(({ type }) => type === "ToolError");
    expect(errors).toMatchObject([{ code: "would_deadlock" }]);
  },
);

test("a cycle of actors whose runs are all damaged delays no other cycle", { tags: "long" }, async () => {
  const host = new TestHost({ agents: [peer] });
  // More parked turns than are examined together.
  const keys = Array.from({ length: 60 }, (_, index) => `cycle-${index}`);
  await restCycles(host, keys);
  const [first] = await host.log.parked({ limit: 1 });
  const isFirst = async (key: string): Promise<boolean> =>
    (await host.runtime.find("peer", `${key}-a`)) === first?.runId ||
    (await host.runtime.find("peer", `${key}-b`)) === first?.runId;
  const damaged: string[] = [];
  for (const key of keys) if (await isFirst(key)) damaged.push(key);
  expect(damaged).toHaveLength(1);
  await restartWithout(host, [`${damaged[0]}-a`, `${damaged[0]}-b`]);
  await advance(host, 30);
  for (const key of keys)
    expect([key, await host.runtime.status(`${key}-a`)]).toMatchObject([
      key,
      { status: damaged.includes(key) ? "running" : "completed" },
    ]);
});
