import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { statusOf, textOf } from "./peers/client.ts";
import type { Client } from "./peers/client.ts";
import { ManualClock } from "./peers/manual-clock.ts";
import { reply, startNode } from "./peers/node.ts";
import type { FakeNode } from "./peers/node.ts";
import { start } from "./peers/start.ts";

async function register(client: Client, node: FakeNode, agent = "far"): Promise<void> {
  await client.call("RegisterAgent", "AgentInfo", "RegisterAgentResponse", node.agent(agent));
}

async function registerTools(client: Client, node: FakeNode): Promise<void> {
  await client.call("RegisterTool", "ToolBoxInfo", "RegisterToolResponse", node.toolbox("tools"));
}

async function ids(client: Client): Promise<readonly string[]> {
  const { peers } = await client.call("GetNodes", "GetNodesRequest", "GetNodesResponse", {
    domain: "default",
  });
  return peers.map((peer) => peer.agent_info?.agent_id ?? peer.toolbox_info?.toolbox_id ?? "");
}

test("15 a session with a registered agent is routed there and back", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await register(started.client, node, "A Name/of its own");
  const session = started.client.session({ receiver_id: "A Name/of its own" });
  session.start("hello");
  session.hold("more");
  session.stop("bye");
  expect((await session.all()).map((message) => [statusOf(message).split(" ")[0], textOf(message)])).toEqual([
    ["holdResponse", "HELLO"],
    ["holdResponse", "MORE"],
    ["stopResponse", "BYE"],
  ]);
  expect(await session.status).toMatchObject({ code: 0 });
  await expect.poll(() => node.ends).toEqual(["ended"]);
});

test("18 a live session id is refused for a registered agent too", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await register(started.client, node);
  const first = started.client.session({ receiver_id: "far", session_id: "same" });
  first.start("a");
  expect(textOf(await first.next())).toBe("A");
  const second = started.client.session({ receiver_id: "far", session_id: "same" });
  second.start("b");
  expect(await second.status).toMatchObject({ code: 3 });
  first.stop("c");
  expect((await first.all()).map(textOf)).toEqual(["C"]);
});

test.each(["echo", "far"])(
  "17 a half-close of a session with %s ends nothing for 60 s, then the session",
  async (receiver) => {
    const clock = new ManualClock();
    await using started = await start([echo], { clock });
    await using node = await startNode();
    await register(started.client, node);
    const session = started.client.session({ receiver_id: receiver });
    session.start("one");
    session.hold("two");
    session.halfClose();
    expect(textOf(await session.next()).toLowerCase()).toBe("one");
    expect(textOf(await session.next()).toLowerCase()).toBe("two");
    const heartbeat = (): Promise<unknown> =>
      started.client.call("Heartbeat", "HeartbeatRequest", "HeartbeatResponse", { sender_id: "far" });
    let isOver = false;
    void session.status.then(() => {
      isOver = true;
    });
    // The first timer of 60 s was for the first message.
    await clock.started(60_000, 2);
    for (let passed = 0; passed < 50_000; passed += 10_000) {
      clock.advance(10_000);
      await heartbeat();
    }
    expect(isOver).toBe(false);
    clock.advance(10_000);
    expect((await session.all()).map((message) => statusOf(message).split(" ")[0])).toEqual(["stopResponse"]);
    expect(await session.status).toMatchObject({ code: 0 });
  },
);

test("19 a node that dies in a session is removed, and the caller gets UNAVAILABLE", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await register(started.client, node);
  const updates = started.client.updates("me");
  await updates.active;
  const session = started.client.session({ receiver_id: "far" });
  session.start("hi");
  expect(textOf(await session.next())).toBe("HI");
  node.kill();
  expect(await session.status).toMatchObject({ code: 14 });
  expect(await updates.what()).toBe("REMOVED far");
  expect(await ids(started.client)).toEqual(["echo", "troupe"]);
});

test("19 a node that is silent for 30 s loses its sessions", async () => {
  const clock = new ManualClock();
  await using started = await start([echo], { clock });
  await using node = await startNode();
  await register(started.client, node);
  const session = started.client.session({ receiver_id: "far" });
  session.start("hi");
  expect(textOf(await session.next())).toBe("HI");
  clock.advance(40_000);
  expect(await session.status).toMatchObject({ code: 14, details: "far does not answer any more" });
  expect(await ids(started.client)).toEqual(["echo", "troupe"]);
});

test("20 a tool of a registered toolbox is called; its errors pass through and do not evict it", async () => {
  await using started = await start([echo]);
  await using node = await startNode({
    tool({ tool_name: name, arguments: text }) {
      const { a, b } = JSON.parse(text) as { readonly a: number; readonly b: number };
      if (name === "add") return { content: [{ text: String(a + b) }] };
      if (name === "broken") return { is_error: true, error_message: "Error executing tool: no" };
      throw Object.assign(new Error(), { code: 13, details: `Handling request failure: ${name}` });
    },
  });
  await registerTools(started.client, node);
  const call = (name: string) =>
    started.client.tool({ receiver_id: "tools", tool_name: name, arguments: '{"a":2,"b":3}' });
  expect(await call("add")).toMatchObject({
    is_error: false,
    error_message: "No Error",
    sender_id: "tools",
    receiver_id: "me",
    content: [{ text: "5" }],
  });
  expect(await call("broken")).toMatchObject({ is_error: true, content: [] });
  await expect(call("nothing")).rejects.toMatchObject({
    code: 13,
    details: "Handling request failure: nothing",
  });
  expect(await ids(started.client)).toContain("tools");
  node.kill();
  await expect(call("add")).rejects.toMatchObject({ code: 14 });
  expect(await ids(started.client)).not.toContain("tools");
});

test("21 the four kinds of content pass a gateway unchanged", async () => {
  await using started = await start([echo]);
  await using node = await startNode({
    session(call) {
      call.on("data", (message: Parameters<typeof reply>[1]) => {
        reply(call, message, { session_status: 4, content: message.content });
        call.end();
      });
    },
  });
  await register(started.client, node);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  const content = [{ text: "t" }, { image: bytes }, { audio: bytes }, { embedded: bytes }, { text: "" }];
  const session = started.client.session({ receiver_id: "far" });
  session.start(undefined, { content });
  expect((await session.next())?.content).toMatchObject(content);
});

test.each(["far", "echo"])(
  "21 a message above 4 MiB to %s is refused, and the node stays",
  async (receiver) => {
    await using started = await start([echo]);
    await using node = await startNode();
    await register(started.client, node);
    const session = started.client.session({ receiver_id: receiver });
    session.start("x".repeat(5 * 1_048_576));
    expect(await session.status).toMatchObject({ code: 8 });
    expect(await ids(started.client)).toEqual(["echo", "troupe", "far"]);
  },
);

test("21 an answer above 4 MiB of a node is RESOURCE_EXHAUSTED, and the node stays", async () => {
  await using started = await start([echo]);
  await using node = await startNode({
    session(call) {
      call.on("data", (message: Parameters<typeof reply>[1]) => {
        reply(call, message, { content: [{ embedded: Buffer.alloc(5 * 1_048_576) }] });
      });
    },
  });
  await register(started.client, node);
  const session = started.client.session({ receiver_id: "far" });
  session.start("hi");
  expect(await session.status).toMatchObject({ code: 8 });
  expect(await ids(started.client)).toContain("far");
});

test("a caller's cancel reaches a registered agent", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await register(started.client, node);
  const session = started.client.session({ receiver_id: "far" });
  session.start("hi");
  await session.next();
  session.cancel();
  await expect.poll(() => node.ends).toContain("canceled");
  expect(await ids(started.client)).toContain("far");
});

test("a gateway that stops ends its sessions with STOP_RESPONSE", async () => {
  await using started = await start([echo]);
  await using node = await startNode();
  await register(started.client, node);
  const sessions = ["echo", "far"].map((receiver) => started.client.session({ receiver_id: receiver }));
  for (const session of sessions) {
    session.start("hi");
    await session.next();
  }
  await started.gateway.stop();
  for (const session of sessions) {
    expect(statusOf(await session.next())).toContain("stopResponse");
    expect(await session.status).toMatchObject({ code: 0 });
  }
});
