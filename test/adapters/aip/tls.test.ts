import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineAgent } from "troupe";
import { collect } from "troupe/testing";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { aipAgent, createAipGateway, joinAipGateway } from "../../../src/adapters/aip/index.ts";
import type { AipTls } from "../../../src/adapters/aip/index.ts";
import { ofType } from "../../agents/events.ts";
import { mirror } from "../agentscope/harness/agents.ts";
import { start } from "./peers/start.ts";

// Keys of these tests only. The node is known to the authority, the stranger to another one.
const pem = (name: string): string => readFileSync(join(import.meta.dirname, "keys", name), "utf8");
const ca = pem("ca.pem");
const own = { key: pem("node.key"), cert: pem("node.pem") };
const stranger = { key: pem("stranger.key"), cert: pem("stranger.pem") };

/** What `echo` behind a gateway answers to a caller with these keys, or why it does not. */
async function ask(gateway: string, tls: AipTls | undefined): Promise<string> {
  const far = aipAgent({ gateway, id: "echo", name: "far", ...(tls && { tls }) });
  const caller = createRuntime({ agents: [far] });
  try {
    const events = await collect(caller, "far", { type: "ChatRequest", input: "hello" });
    const [end] = ofType(events, "RequestCompleted");
    return end?.error?.code ?? end?.finish_reason ?? "";
  } finally {
    await caller.close({ drainMs: 0 });
  }
}

test("a gateway with a key is called over TLS, by everyone who trusts its authority", async () => {
  await using far = await start([echo], { tls: own });
  const { address } = far.gateway;
  expect(await ask(address, { ca })).toBe("success");
  expect(await ask(address, undefined)).not.toBe("success");
  expect(await ask(address, { ca: pem("other-ca.pem") })).not.toBe("success");
});

test("with an authority only callers with its certificates connect, and nodes register over mutual TLS", async () => {
  await using far = await start([payments], { tls: { ...own, ca } });
  const { address } = far.gateway;
  const runtime = createRuntime({ agents: [echo] });
  const join = (tls: AipTls) => joinAipGateway(runtime, { gateway: address, tls });
  try {
    await expect(join({ ...stranger, ca })).rejects.toMatchObject({ code: "unavailable" });
    const node = await join({ ...own, ca });
    // The gateway has dialed the node, and both have shown a certificate.
    expect(await ask(address, { ...own, ca })).toBe("success");
    expect(await ask(address, { ca })).not.toBe("success");
    expect(await ask(address, { ...stranger, ca })).not.toBe("success");
    await node.stop();
  } finally {
    await runtime.close({ drainMs: 0 });
  }
});

test("other machines may connect with a certificate, and keys that cannot be used are named", async () => {
  const runtime = createRuntime({ agents: [echo] });
  const host = "0.0.0.0:0";
  try {
    const opened = createAipGateway(runtime, { host, tls: { ...own, ca } });
    await opened.start();
    await opened.stop({ graceMs: 0 });
    const refused = { code: "forbidden", details: { hint: expect.stringContaining("--aip-ca") as unknown } };
    await expect(createAipGateway(runtime, { host, tls: own }).start()).rejects.toMatchObject(refused);
    const wrong = { code: "invalid_request" };
    await expect(createAipGateway(runtime, { tls: { ca } }).start()).rejects.toMatchObject(wrong);
    const torn = { key: own.key, cert: "no certificate" };
    const unread = { code: "unavailable", message: expect.stringContaining("PEM") as unknown };
    await expect(createAipGateway(runtime, { tls: torn }).start()).rejects.toMatchObject(unread);
  } finally {
    await runtime.close({ drainMs: 0 });
  }
});

test("the tasks that led to a call are its parents, in the answers too", async () => {
  await using far = await start([mirror]);
  const { gateway, client } = far;
  const remote = aipAgent({ gateway: gateway.address, id: "mirror" });
  const boss = defineAgent({
    name: "boss",
    purpose: "Calls.",
    uses: { remote },
    chat: async (input, turn) => (await turn.call(turn.uses.remote, "chat", { input })).output,
  });
  await using near = await start([boss]);
  const session = near.client.session({ receiver_id: "boss" });
  session.start("go", { task_info: { task_id: "t2", parent_task_ids: ["t1"], task_status: 0 } });
  const answer = await session.next();
  expect(answer?.task_info).toMatchObject({ task_id: "t2", parent_task_ids: ["t1"] });
  const { metadata } = JSON.parse(answer?.content[0]?.text ?? "") as {
    readonly metadata: { readonly aip: { readonly parent_task_ids: readonly string[] } };
  };
  expect(metadata.aip.parent_task_ids).toEqual([
    "t1",
    "t2",
    answer?.message_id.replace(/^msg_(.*)_\d+$/, "$1"),
  ]);
  client[Symbol.dispose]();
});
