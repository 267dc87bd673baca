import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { ClusterHost } from "./cluster-host.ts";

const clerk = defineAgent({ name: "clerk", purpose: "Answers.", chat: () => "done" });

test("what another node has refused in the last second is erased with an owner", async () => {
  const host = new ClusterHost();
  const [first, second] = [await host.start([clerk]), await host.start([clerk])];
  await host.pass(5_000);
  const bob = second.runtime.as({ id: "bob", owner: "acme", roles: ["reader"] });
  await expect(host.settle(bob.erase({ owner: "acme" }))).rejects.toThrow(/bob may not/);

  await host.settle(first.runtime.erase({ owner: "acme" }));

  await host.pass(5_000);
  const { entries } = await host.settle(second.runtime.audit.list({ owner: "acme", limit: 10 }));
  expect(entries).toEqual([]);
});
