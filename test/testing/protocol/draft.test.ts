/** @module-tag long */
// The client, remote agents and the command line against a server that is no more than the draft says.
import { tmpdir } from "node:os";
import { createRuntime, defineAgent } from "troupe";
import { createClient, remoteAgent } from "troupe/client";
import { collect } from "troupe/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { main, startProgram } from "../../cli/command.ts";
import { serveDraft } from "./draft-server.ts";
import type { DraftChoices } from "./draft-server.ts";

async function start(choices: DraftChoices): Promise<string> {
  const server = await serveDraft(choices);
  onTestFinished(() => server.close());
  return server.url;
}

describe.each<[string, DraftChoices]>([
  ["takes the ids of clients", { ids: "client" }],
  ["makes its own ids", { ids: "server" }],
  ["answers every request with a status only", { ids: "client", events: false }],
  ["keeps streams open while it waits", { ids: "server", stays: true }],
])("a server of the draft that %s", (_, choices) => {
  test("lists and describes its agents", async () => {
    const client = createClient(await start(choices));
    expect(await client.agents()).toEqual([{ name: "echo", path: "/echo" }]);
    expect(await client.agent("echo").describe()).toMatchObject({ name: "echo", purpose: "Repeats a text." });
  });

  test("is talked to, in one run", async () => {
    const agent = createClient(await start(choices)).agent("echo");
    await agent.configure({ tone: "friendly" });
    const call = agent.chat("hello");
    expect(await call).toBe("hello");
    expect(await call.runId).toBe("1");
    const types: string[] = [];
    for await (const event of call) types.push(event.type);
    expect(types).toEqual(["RequestStarted", "TextOutput", "RequestCompleted"]);
    const next = agent.chat("again", { runId: await call.runId });
    expect(await next).toBe("again");
    expect(await next.runId).toBe("1");
    expect((await next.view()).head).toBe(6);
  });

  test("asks, and gets the answer", async () => {
    const agent = createClient(await start(choices)).agent("echo");
    expect(await agent.chat("ask", { answer: () => ({ name: "Ada" }) })).toBe("hello Ada");
    const call = agent.chat("ask");
    await expect(call).rejects.toMatchObject({ code: "waiting" });
    await call.waits[0]?.answer({ name: "Bob" });
    expect(await call).toBe("hello Bob");
  });

  test("cancels a request", async () => {
    const call = createClient(await start(choices))
      .agent("echo")
      .chat("ask");
    await expect(call).rejects.toMatchObject({ code: "waiting" });
    await call.cancel();
    await expect(call).rejects.toMatchObject({ code: "canceled" });
  });

  test("has an agent that other agents call", async () => {
    const url = await start(choices);
    const caller = defineAgent({
      name: "caller",
      purpose: "Calls.",
      chat: (input, turn) => turn.call(remoteAgent(`${url}/echo`), "chat", { input }).text(),
    });
    const runtime = createRuntime({ agents: [caller] });
    onTestFinished(() => runtime.close());
    const events = await collect(runtime, "caller", { type: "ChatRequest", input: "far" });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "far" });
  });

  test("is used from the command line", async () => {
    const url = await start(choices);
    const chat = startProgram(process.execPath, [main, "chat", "--url", url, "echo", "hello", "there"], {
      cwd: tmpdir(),
    });
    expect(await chat.exited).toBe(0);
    expect(chat.output()).toContain("hello there");
    const agents = startProgram(process.execPath, [main, "agents", "--url", url], { cwd: tmpdir() });
    expect(await agents.exited).toBe(0);
    expect(agents.output()).toContain("echo");
  });
});

test("a server of the draft that gives no ids and takes none is named in the error", async () => {
  const client = createClient(await start({ ids: "server", events: false }));
  await expect(client.agent("echo").chat("hello")).rejects.toMatchObject({
    code: "call_failed",
    message: expect.stringContaining("answers with a status only, and does not know req_") as string,
  });
});
