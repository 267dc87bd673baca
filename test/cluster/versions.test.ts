import { defineAgent } from "troupe";
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
  expect(await host.log.run(runId)).toMatchObject({ status: "idle", owner: a.id });
});
