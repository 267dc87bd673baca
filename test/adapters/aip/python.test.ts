/** @module-tag long */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { createRuntime } from "troupe";
import { afterAll, beforeEach, expect, test } from "vitest";
import { calculator } from "../../../agents/calculator.ts";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { aipAgent, aipToolbox, joinAipGateway } from "../../../src/adapters/aip/index.ts";
import { skipWithoutPythonGrpc } from "../../machine/skip-without.ts";
import { Client, textOf } from "./peers/client.ts";
import { PYTHON, PythonPeers } from "./peers/python-peer.ts";
import { start } from "./peers/start.ts";

const peers = new PythonPeers();
beforeEach(({ skip }) => {
  if (!peers.available) skipWithoutPythonGrpc(skip);
});
afterAll(() => peers[Symbol.dispose]());

test("a Python agent and toolbox register here, and are called", async () => {
  await using here = await start([echo]);
  {
    await using node = peers.start("node.py", here.gateway.address);
    expect(await node.json()).toEqual({ success: true, peers: ["echo", "troupe", "Python_Agent"] });
    const [, agent] = here.gateway.agents();
    expect(agent).toMatchObject({
      agent_id: "Python_Agent",
      input_mode: [0, 1],
      skills: [{ skill_id: "reverse" }],
    });
    const session = here.client.session({ receiver_id: "Python_Agent" });
    const bytes = Buffer.from([0, 255, 1]);
    session.start(undefined, { content: [{ text: "abc" }, { image: bytes }, { embedded: bytes }] });
    const answer = await session.next();
    expect(answer?.content).toMatchObject([{ text: "cba" }, { image: bytes }, { embedded: bytes }]);
    session.stop("GoodBye!");
    expect((await session.all()).map(textOf)).toEqual(["!eyBdooG"]);
    expect(await session.status).toMatchObject({ code: 0 });

    const call = (name: string, input: string) =>
      here.client.tool({ receiver_id: "python-tools", tool_name: name, arguments: input });
    expect(await call("add", '{"a":2,"b":3}')).toMatchObject({ is_error: false, content: [{ text: "5" }] });
    expect(await call("add", '{"a":2}')).toMatchObject({ is_error: true });
    await expect(call("nothing", "{}")).rejects.toMatchObject({ code: 13 });
    expect(here.gateway.toolboxes()).toHaveLength(2);
  }
  expect(here.gateway.nodes()).toHaveLength(2);
});

test("our agents call a Python agent and a Python tool", async () => {
  await using here = await start([echo]);
  await using node = peers.start("node.py", here.gateway.address);
  await node.line();
  const { address: gateway } = here.gateway;
  const agent = aipAgent({ gateway, id: "Python_Agent", name: "reverser" });
  const tools = aipToolbox({ gateway, id: "python-tools" });
  const runtime = createRuntime({ agents: [agent, tools] });
  await Promise.all([agent.remote?.ready(), tools.remote?.ready()]);
  expect(runtime.describe("reverser").purpose).toBe("Says everything backwards.");
  expect(runtime.describe("python-tools").operations.find(({ name }) => name === "add")).toMatchObject({
    input_schema: { properties: { a: { type: "integer" }, b: { type: "integer" } } },
  });
  const results = [
    runtime.process("reverser", { type: "ChatRequest", input: "hello" }),
    runtime.process("python-tools", { type: "OperationRequest", operation: "add", input: { a: 2, b: 3 } }),
  ].map(async (asked) => {
    const options = { until: "completed", timeoutMs: 60_000 } as const;
    const event = await runtime.acknowledgement(await asked, options);
    return (JSON.parse(event ?? "{}") as { readonly result?: string }).result;
  });
  expect(await Promise.all(results)).toEqual(["olleh", "5"]);
  await runtime.close();
});

test("19 the death of a Python agent in a session is UNAVAILABLE, and removes it", async () => {
  await using here = await start([echo]);
  await using node = peers.start("node.py", here.gateway.address);
  await node.line();
  const session = here.client.session({ receiver_id: "Python_Agent" });
  session.start("abc");
  expect(textOf(await session.next())).toBe("cba");
  node.kill();
  expect(await session.status).toMatchObject({ code: 14 });
  expect(here.gateway.agents().map(({ agent_id: id }) => id)).toEqual(["echo"]);
});

test("a Python client asks our agents and tools", async () => {
  await using here = await start([payments, calculator]);
  const tool = ["calculator.add", '{"a":2,"b":3}'];
  const quests = ["pay 30 to bob", "yes", "pay x"];
  await using client = peers.start("client.py", here.gateway.address, "payments", ...tool, ...quests);
  expect(await client.json()).toEqual(["payments", "calculator", "troupe"]);
  const reply = (status: string, task: string, number: number, text: string) => ({
    status,
    task: ["task_py_1", task],
    from: "payments",
    to: "py",
    session: "agent_python_1",
    reply_to: `msg_${number}`,
    text,
  });
  expect(await client.json()).toEqual(reply("HOLD_RESPONSE", "WAITING", 0, "Pay 30 to bob?"));
  expect(await client.json()).toEqual(reply("HOLD_RESPONSE", "FINISH", 1, "Paid 30 to bob."));
  expect(await client.json()).toMatchObject({ status: "HOLD_RESPONSE", task: ["task_py_1", "FINISH"] });
  expect(await client.json()).toEqual(reply("STOP_RESPONSE", "FINISH", 3, ""));
  expect(await client.json()).toEqual(["end", 0, "OK"]);
  expect(await client.json()).toEqual({ is_error: false, message: "No Error", text: '{"value":5}' });
});

test("our agents join a Python gateway, each by an address of its own, and are called through it", async () => {
  await using gateway = peers.start("gateway.py");
  const address = await gateway.line();
  const runtime = createRuntime({ agents: [echo, payments] });
  const node = await joinAipGateway(runtime, { gateway: address });
  expect([await gateway.line(), await gateway.line()].sort()).toEqual([
    "registered echo",
    "registered payments",
  ]);
  using client = new Client(address);
  const session = client.session({ receiver_id: "payments" });
  session.start("pay 30 to bob");
  expect(textOf(await session.next())).toBe("Pay 30 to bob?");
  session.hold("yes");
  session.stop();
  expect((await session.all()).map(textOf)).toEqual(["Paid 30 to bob.", ""]);
  expect(await session.status).toMatchObject({ code: 0 });
  await node.stop();
  expect([await gateway.line(), await gateway.line()].sort()).toEqual(["left echo", "left payments"]);
  await runtime.close();
});

test("the commands of the page work as described", async () => {
  await using here = await start([payments, calculator]);
  const root = resolve(import.meta.dirname, "../../..");
  const page = readFileSync(join(root, "docs/protocols/aip.md"), "utf8");
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, script = ""]) => script);
  const [, printed = ""] = /^prints\n\n```\n(.*?)^```$/ms.exec(page) ?? [];
  const cwd = await mkdtemp(join(tmpdir(), "troupe-aip-page-"));
  const script = blocks
    .join("\n")
    .replaceAll("127.0.0.1:50051", here.gateway.address)
    .replaceAll("node_modules/troupe", root)
    .replaceAll("python3 ask.py", `${PYTHON} ask.py`);
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-euc", script], { cwd });
  expect(stdout.replaceAll(/ +$/gm, "")).toBe(printed);
  await rm(cwd, { recursive: true });
});
