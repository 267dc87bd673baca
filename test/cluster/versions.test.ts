import { defineAgent } from "troupe";
import type { Agent } from "troupe";
import type { RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { ClusterHost } from "./cluster-host.ts";

const clerk = defineAgent({ name: "clerk", purpose: "Repeats.", chat: (input) => `heard ${input}` });

test("a message that only a newer version knows is refused, on the own node and on another one", async () => {
  const host = new ClusterHost();
  const [a, b] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(2_000);
  const runId = await host.ask(a, "clerk", { type: "ChatRequest", input: "hi" });
  for (const node of [a, b]) {
    const sent = node.router.send(runId, { kind: "archive", by: "a newer version" });
    await expect(host.settle(sent)).rejects.toMatchObject({
      code: "unavailable",
      message: `run ${runId} is on a node that does not know the message archive`,
      details: { hint: "update all nodes to one version" },
    });
  }
  const sent = b.router.send("run_none", { text: "no kind" });
  await expect(host.settle(sent)).rejects.toMatchObject({ code: "unavailable" });
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", node: a.id });
});

test.each([
  ["that can continue them", [["2"], ["3", "1"], ["1"]], ["1", "3"]],
  ["that can continue them, if it is the only one", [["2"], ["3", "1"]], ["3"]],
  ["with the agent, if none can continue them, and are held there", [["2"], ["4"]], ["version_mismatch"]],
] as const)("turns of a node that dies go to nodes %s", async (_, others, expected) => {
  const host = new ClusterHost();
  const versions = (version: string, ...compatible: readonly string[]): Agent =>
    defineAgent({
      name: "worker",
      purpose: "Works for five seconds.",
      version,
      compatible,
      async chat(_input, turn) {
        await turn.effect(
          "work",
          () =>
            new Promise<void>((resolve) => {
              host.environment.timer(5_000, resolve);
            }),
          { effect: "idempotent" },
        );
        return version;
      },
    });
  const old = await host.start([versions("1")]);
  const runs: RunId[] = [];
  for (let run = 0; run < 8; run += 1)
    runs.push(await host.ask(old, "worker", { type: "ChatRequest", input: "" }));
  // Each of the nodes gets a part of the runs, if the version does not matter.
  for (const [version, ...compatible] of others) await host.start([versions(version, ...compatible)]);
  await host.pass(2_000);
  old.kill();
  await host.pass(30_000);
  const ends = await Promise.all(runs.map(async (runId) => (await host.events(runId)).at(-1)));
  const results = ends.map((end) =>
    end?.type === "RequestHeld" ? end.code : end?.type === "RequestCompleted" ? end.result : "open",
  );
  expect(new Set(results)).toEqual(new Set(expected));
});

test("a turn that no node can continue goes to a node that can, when one joins, with the answer that it has got", async () => {
  const asking = (version: string): Agent =>
    defineAgent({
      name: "asker",
      purpose: "Asks.",
      version,
      async chat(_input, turn) {
        const { name } = await turn.waitForInput({ name: "Your name?" });
        return `${version} ${JSON.stringify(name)}`;
      },
    });
  const host = new ClusterHost();
  const old = await host.start([asking("1")]);
  const runId = await host.ask(old, "asker", { type: "ChatRequest", input: "" });
  const newer = await host.start([asking("2")]);
  await host.pass(2_000);
  old.kill();
  await host.pass(10_000);
  const answer = { type: "ResumeWithInput", run_id: runId, request_keys: { name: "Ann" } } as const;
  await host.ask(newer, "asker", answer);
  expect(await host.log.run(runId)).toMatchObject({ status: "held" });

  await host.start([asking("1")]);
  await host.pass(10_000);
  expect((await host.events(runId)).at(-1)).toMatchObject({ finish_reason: "success", result: '1 "Ann"' });
});

test("an open turn goes to a node that has its version beside a newer one", async () => {
  const asking = (version: string): Agent =>
    defineAgent({
      name: "asker",
      purpose: "Asks.",
      version,
      async chat(_input, turn) {
        await turn.text(version);
        const { name } = await turn.waitForInput({ name: "Your name?" });
        return `${version} ${JSON.stringify(name)}`;
      },
    });
  const host = new ClusterHost();
  const old = await host.start([asking("1")]);
  const runs: RunId[] = [];
  for (let run = 0; run < 6; run += 1)
    runs.push(await host.ask(old, "asker", { type: "ChatRequest", input: "" }));
  const newest = await host.start([asking("2")]);
  await host.start([asking("2"), asking("1")]);
  await host.pass(2_000);
  old.kill();
  await host.pass(10_000);
  for (const runId of runs) {
    const answer = { type: "ResumeWithInput", run_id: runId, request_keys: { name: "Ann" } } as const;
    await host.ask(newest, "asker", answer);
    await host.pass(1_000);
    const events = await host.events(runId);
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: '1 "Ann"' });
    expect(events.filter(({ type }) => type === "RequestHeld")).toEqual([]);
  }
});
