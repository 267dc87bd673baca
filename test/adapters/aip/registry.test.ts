/** @module-tag long */
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { calculator } from "../../../agents/calculator.ts";
import { echo } from "../../../agents/echo.ts";
import type { MessageTypes } from "../../../src/adapters/aip/wire/messages.ts";
import { findFreePort } from "../../machine/free-port.ts";
import type { Client } from "./peers/client.ts";
import { ManualClock } from "./peers/manual-clock.ts";
import { startNode } from "./peers/node.ts";
import { start } from "./peers/start.ts";

const registerAgent = (client: Client, info: object) =>
  client.call("RegisterAgent", "AgentInfo", "RegisterAgentResponse", info);
const registerTool = (client: Client, info: object) =>
  client.call("RegisterTool", "ToolBoxInfo", "RegisterToolResponse", info);
const deregister = (client: Client, id: string) =>
  client.call("DeregisterNode", "DeregisterNodeRequest", "DeregisterNodeResponse", { node_id: id });
const heartbeat = (client: Client, id: string) =>
  client.call("Heartbeat", "HeartbeatRequest", "HeartbeatResponse", { sender_id: id });
const update = (client: Client, peer: object) =>
  client.call("UpdateNodeInfo", "UpdateNodeInfoRequest", "UpdateNodeInfoResponse", { node_info: peer });

async function nodes(client: Client, domain = "default"): Promise<readonly string[]> {
  const { peers } = await client.call("GetNodes", "GetNodesRequest", "GetNodesResponse", {
    agent_id: "me",
    domain,
  });
  return idsOf(peers);
}

function idsOf(peers: MessageTypes["GetNodesResponse"]["peers"]): readonly string[] {
  return peers.map(
    ({ agent_info: agent, toolbox_info: toolbox }) => agent?.agent_id ?? toolbox?.toolbox_id ?? "",
  );
}

test("3 an agent that registers gets all nodes, itself included", async () => {
  await using started = await start([echo, calculator]);
  await using node = await startNode();
  const { success, peers } = await registerAgent(started.client, node.agent("far"));
  expect(success).toBe(true);
  expect(idsOf(peers)).toEqual(["echo", "calculator", "troupe", "far"]);
  expect(peers[3]?.agent_info).toMatchObject({ agent_id: "far", address: node.address });
  expect(started.gateway.agents().map(({ agent_id: id }) => id)).toEqual(["echo", "calculator", "far"]);
});

test("3 our agents and their operations are in the registry from the start", async () => {
  await using started = await start([calculator]);
  const [agent] = started.gateway.agents();
  expect(agent).toMatchObject({
    agent_id: "calculator",
    domain: "default",
    address: started.gateway.address,
  });
  const [toolbox] = started.gateway.toolboxes();
  expect(toolbox).toMatchObject({ toolbox_id: "troupe", address: started.gateway.address });
  expect(toolbox?.tools.map(({ name }) => name)).toContain("calculator.chat");
  for (const { arguments: text } of toolbox?.tools ?? [])
    expect(JSON.parse(text)).toMatchObject({ type: "object" });
});

test("4 an id or an address that is registered is refused", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await using other = await startNode();
  await registerAgent(started.client, node.agent("far"));
  const refused = (details: string) => expect.objectContaining({ code: 6, details }) as object;
  await expect(registerAgent(started.client, other.agent("far"))).rejects.toEqual(
    refused("Agent [far] already registered."),
  );
  await expect(registerAgent(started.client, other.agent("echo"))).rejects.toEqual(
    refused("Agent [echo] already registered."),
  );
  await expect(registerTool(started.client, other.toolbox("troupe"))).rejects.toEqual(
    refused("Tool [troupe] already registered."),
  );
  await expect(registerAgent(started.client, node.agent("second"))).rejects.toEqual(
    refused(`Address [${node.address}] already registered.`),
  );
  await expect(
    registerAgent(started.client, { agent_id: "own", address: started.gateway.address }),
  ).rejects.toEqual(refused(`Address [${started.gateway.address}] already registered.`));
  const both = await Promise.allSettled(
    ["one", "two"].map((id) => registerAgent(started.client, other.agent(id))),
  );
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
});

test("5 a registered toolbox is among the nodes; a domain selects exactly its nodes", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  expect(await registerTool(started.client, node.toolbox("math-tools"))).toEqual({ success: true });
  expect(await nodes(started.client)).toEqual(["echo", "troupe", "math-tools"]);
  expect(await nodes(started.client, "math")).toEqual(["math-tools"]);
  expect(await nodes(started.client, "mat")).toEqual([]);
  expect(await nodes(started.client, "")).toEqual([]);
});

test("6 a node that leaves is gone; leaving again is no success", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await registerAgent(started.client, node.agent("far"));
  expect(await deregister(started.client, "far")).toEqual({ success: true });
  expect(await nodes(started.client)).toEqual(["echo", "troupe"]);
  expect(await deregister(started.client, "far")).toEqual({ success: false });
  expect(await deregister(started.client, "echo")).toEqual({ success: false });
  expect(await nodes(started.client)).toEqual(["echo", "troupe"]);
  await registerAgent(started.client, node.agent("far"));
});

test("7 a heartbeat of an unknown node is answered, not refused", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await registerAgent(started.client, node.agent("far"));
  expect(await heartbeat(started.client, "far")).toEqual({ success: true, message: "Heartbeat received" });
  expect(await heartbeat(started.client, "nobody")).toEqual({
    success: false,
    message: "Node nobody not registered",
  });
});

test("8 a node is evicted after 30 s of silence; heartbeats, sessions and tool calls renew its lease", async () => {
  const clock = new ManualClock();
  await using started = await start([echo, calculator], { clock });
  const { client } = started;
  const far = await Promise.all(["silent", "beating", "asking", "using"].map(() => startNode()));
  const ids = ["silent", "beating", "asking", "using"];
  for (const [index, node] of far.entries()) await registerAgent(client, node.agent(ids[index] ?? ""));
  for (let round = 0; round < 3; round += 1) {
    expect(await nodes(client)).toContain("silent");
    clock.advance(10_000);
    await heartbeat(client, "beating");
    const session = client.session({ sender_id: "asking" });
    session.start("hi");
    session.stop();
    await session.all();
    await client.tool({ sender_id: "using", tool_name: "calculator.chat", arguments: '{"input":"1+1"}' });
  }
  expect(await nodes(client)).toEqual(["echo", "calculator", "troupe", "beating", "asking", "using"]);
  clock.advance(40_000);
  expect(await nodes(client)).toEqual(["echo", "calculator", "troupe"]);
  expect(await heartbeat(client, "beating")).toMatchObject({ success: false });
  for (const node of far) await node[Symbol.asyncDispose]();
});

test("9 a node replaces its description; an unknown node cannot", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await using other = await startNode();
  await registerAgent(started.client, node.agent("far"));
  const changed = node.agent("far", { description: "new", input_mode: [0, 7] });
  expect(await update(started.client, { agent_info: changed })).toMatchObject({ success: true });
  expect(started.gateway.agents().at(-1)).toMatchObject({ agent_id: "far", description: "new" });
  const moved = { ...changed, address: other.address };
  expect(await update(started.client, { agent_info: moved })).toMatchObject({ success: true });
  node.kill();
  const session = started.client.session({ receiver_id: "far" });
  session.start("hi");
  expect(await session.next()).toMatchObject({ content: [{ text: "HI" }] });
  session.cancel();
  await expect(update(started.client, { agent_info: other.agent("nobody") })).rejects.toMatchObject({
    code: 5,
    details: "Node nobody not registered",
  });
  await expect(update(started.client, { agent_info: other.agent("echo") })).rejects.toMatchObject({
    code: 7,
  });
  await expect(update(started.client, {})).rejects.toMatchObject({ code: 3 });
});

test("10 subscribers get the changes of nodes in order", async () => {
  await using started = await start([echo]);
  const { client } = started;
  await using node = await startNode();
  await using other = await startNode();
  const all = client.updates("all");
  const one = client.updates("one", ["tools"]);
  await Promise.all([all.active, one.active]);
  await registerAgent(client, node.agent("far"));
  await registerTool(client, other.toolbox("tools"));
  await update(client, { agent_info: node.agent("far", { description: "new" }) });
  await deregister(client, "far");
  await deregister(client, "tools");
  const expected = ["ADDED far with peer", "ADDED tools with peer", "UPDATED far with peer", "REMOVED far"];
  for (const what of expected) expect(await all.what()).toBe(what);
  expect(await one.what()).toBe("ADDED tools with peer");
  expect(await one.what()).toBe("REMOVED tools");

  const unsubscribe = (subscriber: string, ids: readonly string[] = []) =>
    client.call("Unsubscribe", "UnsubscribeRequest", "UnsubscribeResponse", {
      subscriber_id: subscriber,
      node_ids: ids,
    });
  expect(await unsubscribe("one", ["other"])).toMatchObject({ success: true });
  expect(await unsubscribe("one", ["tools"])).toMatchObject({ success: true });
  expect(await one.what()).toBe("end");
  expect(await one.status).toMatchObject({ code: 0 });
  expect(await unsubscribe("one")).toMatchObject({ success: false });
  await unsubscribe("all", ["far"]);
  await registerAgent(client, node.agent("far"));
  await registerTool(client, other.toolbox("tools"));
  expect(await all.what()).toBe("REMOVED tools");
  expect(await all.what()).toBe("ADDED tools with peer");
  all.cancel();
  await all.status;
  await expect.poll(() => unsubscribe("all")).toMatchObject({ success: false });
});

test("25 a node that cannot be reached is refused soon, and can register later", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  const port = await findFreePort();
  const before = performance.now();
  await expect(
    registerAgent(started.client, { agent_id: "far", address: `127.0.0.1:${port}` }),
  ).rejects.toMatchObject({ code: 14, details: expect.stringContaining("cannot reach far") as string });
  expect(performance.now() - before).toBeLessThan(5_000);
  expect(await nodes(started.client)).toEqual(["echo", "troupe"]);
  expect(await registerAgent(started.client, node.agent("far"))).toMatchObject({ success: true });
});

test("25 an address that accepts connections and says nothing is given up after 5 s", async () => {
  await using started = await start([echo]);
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  await expect(
    registerAgent(started.client, { agent_id: "far", address: `127.0.0.1:${port}` }),
  ).rejects.toMatchObject({ code: 14 });
  expect(await nodes(started.client)).toEqual(["echo", "troupe"]);
  silent.close();
});

test.each([
  ["no id", { agent_id: "", address: "127.0.0.1:1" }, 3],
  ["no address", { agent_id: "far", address: "" }, 3],
  ["the path of a socket", { agent_id: "far", address: "unix:/tmp/socket" }, 3],
  [
    "a description of 300 KB",
    { agent_id: "far", address: "127.0.0.1:1", description: "x".repeat(300_000) },
    8,
  ],
])("a registration with %s is refused", async (_name, info, code) => {
  await using started = await start([echo]);
  await expect(registerAgent(started.client, info)).rejects.toMatchObject({ code });
  expect(await nodes(started.client)).toEqual(["echo", "troupe"]);
});
