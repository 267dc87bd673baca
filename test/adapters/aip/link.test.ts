import { expect, test } from "vitest";
import { calculator } from "../../../agents/calculator.ts";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { speaker, worker } from "./peers/agents.ts";
import { textOf } from "./peers/client.ts";
import type { Client } from "./peers/client.ts";
import { ManualClock } from "./peers/manual-clock.ts";
import { startNode } from "./peers/node.ts";
import { startOldGateway } from "./peers/old-gateway.ts";
import { start } from "./peers/start.ts";

async function nodes(client: Client): Promise<readonly string[]> {
  const { peers } = await client.call("GetNodes", "GetNodesRequest", "GetNodesResponse", {
    domain: "default",
  });
  return peers.map((peer) => peer.agent_info?.agent_id ?? peer.toolbox_info?.toolbox_id ?? "");
}

test("the nodes of a connected gateway are reachable: sessions and tool calls go there", async () => {
  await using near = await start([speaker]);
  await using far = await start([payments, echo]);
  await using node = await startNode();
  await far.client.call("RegisterTool", "ToolBoxInfo", "RegisterToolResponse", node.toolbox("tools"));
  await near.gateway.connect(far.gateway.address);
  expect(await nodes(near.client)).toEqual(["speaker", "troupe", "payments", "echo", "tools"]);
  const session = near.client.session({ receiver_id: "payments" });
  session.start("pay 30 to bob");
  expect(textOf(await session.next())).toBe("Pay 30 to bob?");
  session.hold("no");
  session.stop();
  expect((await session.all()).map(textOf)).toEqual(["declined", ""]);
  const sum = await near.client.tool({ receiver_id: "tools", tool_name: "add", arguments: '{"a":2,"b":3}' });
  expect(textOf(sum)).toBe("5");
  // An id that is known already wins: the near toolbox has no operation of the far agents.
  expect(await near.client.tool({ tool_name: "payments.pay", arguments: "{}" })).toMatchObject({
    is_error: true,
  });
});

test("changes at a connected gateway reach the subscribers of this one", async () => {
  await using near = await start([speaker]);
  await using far = await start([echo]);
  await using node = await startNode();
  await near.gateway.connect(far.gateway.address);
  const updates = near.client.updates("me");
  await updates.active;
  await far.client.call("RegisterAgent", "AgentInfo", "RegisterAgentResponse", node.agent("late"));
  expect(await updates.what()).toBe("ADDED late with peer");
  const changed = { node_info: { agent_info: node.agent("late", { description: "new" }) } };
  await far.client.call("UpdateNodeInfo", "UpdateNodeInfoRequest", "UpdateNodeInfoResponse", changed);
  expect(await updates.what()).toBe("UPDATED late with peer");
  await far.client.call("DeregisterNode", "DeregisterNodeRequest", "DeregisterNodeResponse", {
    node_id: "late",
  });
  expect(await updates.what()).toBe("REMOVED late");
});

test("what a gateway has learned is not told to a third one, and two may connect to each other", async () => {
  await using one = await start([speaker]);
  await using two = await start([echo]);
  await using three = await start([calculator]);
  await two.gateway.connect(three.gateway.address);
  await one.gateway.connect(two.gateway.address);
  await two.gateway.connect(one.gateway.address);
  expect(await nodes(one.client)).toEqual(["speaker", "troupe", "echo"]);
  expect(await nodes(two.client)).toEqual(["echo", "troupe", "calculator", "speaker"]);
  expect(await nodes(three.client)).toEqual(["calculator", "troupe"]);
});

test("a broken link removes what came by it, and is tried again with growing pauses", async () => {
  const clock = new ManualClock();
  await using near = await start([speaker], { clock });
  const far = await start([echo, worker]);
  const { address } = far.gateway;
  await near.gateway.connect(address);
  const updates = near.client.updates("me");
  await updates.active;
  await far[Symbol.asyncDispose]();
  expect([await updates.what(), await updates.what()]).toEqual(["REMOVED echo", "REMOVED worker"]);
  expect(await nodes(near.client)).toEqual(["speaker", "troupe"]);
  for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000]) {
    await clock.started(pauseMs);
    clock.advance(pauseMs);
  }
  await using again = await start([echo], { host: address });
  expect(again.gateway.address).toBe(address);
  await clock.started(30_000, 2);
  clock.advance(30_000);
  expect(await updates.what()).toBe("ADDED echo with peer");
});

test("a gateway without subscriptions is asked every 10 s", async () => {
  const clock = new ManualClock();
  await using near = await start([speaker], { clock });
  await using far = await startOldGateway(["one", "two"]);
  await near.gateway.connect(far.address);
  expect(await nodes(near.client)).toEqual(["speaker", "troupe", "one", "two"]);
  const updates = near.client.updates("me");
  await updates.active;
  far.agents.splice(0, 1, "three");
  clock.advance(10_000);
  expect([await updates.what(), await updates.what()]).toEqual(["REMOVED one", "ADDED three with peer"]);
  far.kill();
  await clock.started(10_000, 3);
  clock.advance(10_000);
  expect([await updates.what(), await updates.what()].sort()).toEqual(["REMOVED three", "REMOVED two"]);
});

test("connecting to a gateway that cannot be reached is refused", async () => {
  await using near = await start([speaker]);
  await expect(near.gateway.connect("127.0.0.1:1")).rejects.toMatchObject({ code: "unavailable" });
  await expect(near.gateway.connect("nowhere")).rejects.toMatchObject({ code: "invalid_request" });
});
