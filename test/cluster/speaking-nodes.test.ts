// What nodes know of the runs that speak on the others: the texts of all gather as on one node with all these runs.
import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { ClusterHost } from "./cluster-host.ts";
import type { ClusterNode } from "./cluster-host.ts";

const chat = { type: "ChatRequest", input: "speak" } as const;

/** Two nodes whose runs say a text every 20 ms, for ten seconds, and how many commits of texts the second one has made. */
async function startTwo(options: { readonly gossipAbove?: number }) {
  const host = new ClusterHost(0, options);
  const speaker = defineAgent({
    name: "speaker",
    purpose: "Says texts at the pace of a model.",
    async chat(_input, turn) {
      for (let text = 0; text < 500; text += 1) {
        await turn.text("word ");
        await new Promise<void>((resolve) => {
          host.environment.timer(20, resolve);
        });
      }
    },
  });
  let commits = 0;
  const a = await host.start([speaker]);
  const b = await host.start([speaker], {
    prepare(log) {
      const { append } = log;
      Object.assign(log, {
        append(...given: Parameters<typeof append>) {
          if (given[1].events.length > 0) commits += 1;
          return append(...given);
        },
      });
    },
  });
  await host.pass(7_000);
  return {
    host,
    a,
    b,
    async speak(node: ClusterNode, runs: number): Promise<void> {
      for (let run = 0; run < runs; run += 1) void node.runtime.process("speaker", chat).catch(() => {});
      await host.environment.idle();
    },
    /** How many commits of texts the second node makes in a second. */
    async commitsInSecond(): Promise<number> {
      const before = commits;
      await host.pass(1_000);
      return commits - before;
    },
  };
}

test("a run that speaks alone in all nodes does not wait", async () => {
  const { b, speak, commitsInSecond } = await startTwo({});
  await speak(b, 1);
  expect(await commitsInSecond()).toBeGreaterThanOrEqual(49);
});

test.each([
  ["heartbeats", {}],
  ["pings", { gossipAbove: 1 }],
])(
  "the texts of a run gather while many runs speak on another node, and not after their end: %s",
  async (_, options) => {
    const { host, a, b, speak, commitsInSecond } = await startTwo(options);
    await speak(a, 30);
    await host.pass(7_000);
    await speak(b, 1);
    expect(b.router.speakingElsewhere?.()).toBeGreaterThan(20);
    // Three or four texts together.
    expect(await commitsInSecond()).toBeLessThan(20);
    await host.pass(6_000);
    expect(b.router.speakingElsewhere?.()).toBeLessThan(8);
    expect(await commitsInSecond()).toBeGreaterThanOrEqual(49);
  },
);

test("the runs of a dead node do not count where it spoke", async () => {
  const { host, a, b, speak } = await startTwo({});
  await speak(a, 30);
  await host.pass(1_000);
  expect(b.router.speakingElsewhere?.()).toBe(30);
  a.kill();
  await host.pass(4_000);
  expect(b.router.speakingElsewhere?.()).toBe(0);
});
