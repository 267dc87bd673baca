import { once } from "node:events";
import { TaskState } from "@a2a-js/sdk";
import type { Task } from "@a2a-js/sdk";
import { methods } from "@agentclientprotocol/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, gather, say, stateOf, textOf as answerOf } from "../adapters/a2a/server.ts";
import { Editor } from "../adapters/acp/editor.ts";
import { endOf, Thread } from "../adapters/ag-ui/server.ts";
import { connectNew, connectOld, idsOf, textOf } from "../adapters/mcp/clients.ts";
import { textIn, UiChat } from "../adapters/ui/harness/server.ts";
import type { Server } from "../flows/server.ts";
import { getText, wires } from "./wires.ts";

/** The tests of the unmodified clients of all protocols, on one server that speaks all of them and serves the agents of the repository. */
export function testClients(start: () => Promise<Server>): void {
  let server: Server;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server.close());

  const openai = (): OpenAI => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const chatOf = (agent: string, id: string): UiChat => new UiChat(() => `${server.url}/ui/${agent}`, id);
  const threadOf = (agent: string, id: string): Thread =>
    new Thread(() => `${server.url}/ag-ui/${agent}`, id);

  /** How often a request began and ended in the log. */
  async function endsOf(requestId: string): Promise<readonly number[]> {
    const events = JSON.parse(await getText(`${server.url}/getevents/${requestId}?since=0`)) as readonly {
      readonly type: string;
    }[];
    return ["RequestStarted", "RequestCompleted"].map(
      (name) => events.filter(({ type }) => type === name).length,
    );
  }

  test("a run begun in useChat waits on all wires, is loaded in an editor, answered from MCP, and a stored response of OpenAI", async () => {
    const chat = chatOf("payments", "one");
    const asked = await chat.say("pay 30 to bob");
    const { request_id: requestId, run_id: runId } = asked.metadata as {
      readonly request_id: string;
      readonly run_id: string;
    };
    const thread = threadOf("payments", runId);
    expect(await thread.reread()).toContain("Pay 30 to bob?");
    const waiting = await openai().responses.retrieve(`resp_${requestId}`);
    expect(waiting).toMatchObject({ status: "completed", output: [{ type: "mcp_approval_request" }] });
    const a2a = await connect(server.url, "payments");
    const status = TaskState.TASK_STATE_INPUT_REQUIRED;
    const { tasks } = await a2a.listTasks({
      tenant: "",
      contextId: runId,
      status,
      pageToken: "",
      statusTimestampAfter: undefined,
    });
    expect(tasks.map(({ id }) => id)).toEqual([requestId]);
    // Its person says nothing: the question is answered elsewhere, and taken back.
    await using editor = await Editor.here(
      { url: server.url, agent: "payments" },
      { permit: (_, signal) => once(signal, "abort").then(() => Promise.reject(new Error("taken back"))) },
    );
    await editor.load(runId);
    expect(editor.said("user")).toBe("pay 30 to bob");
    await expect.poll(() => editor.permissions.length).toBe(1);
    const client = await connectOld(server.url);
    const paid = await client.call("answer", { request_id: requestId, values: { approved: true } });
    expect(textOf(paid)).toBe("Paid 30 to bob.");
    // Each wire shows the answer that another one gave.
    const events = JSON.parse(await getText(`${server.url}/getevents/${requestId}?since=0`)) as readonly {
      readonly id: number;
      readonly type: string;
    }[];
    const answer = events.find(({ type }) => type === "ResumeWithInput");
    expect(await openai().responses.retrieve(`resp_${requestId}`)).toEqual(waiting);
    expect((await openai().responses.retrieve(`resp_${requestId}~${answer?.id}`)).output_text).toBe(
      "Paid 30 to bob.",
    );
    expect(await thread.reread()).toContain("Paid 30 to bob.");
    expect(answerOf(await a2a.getTask({ tenant: "", id: requestId }))).toBe("Paid 30 to bob.");
    await expect.poll(() => editor.said()).toContain("Paid 30 to bob.");
    await expect(chat.approve(true)).rejects.toThrow(/already answered|answered by another client/);
    expect(await endsOf(requestId)).toEqual([1, 1]);
  });

  test("an agent with two questions is driven over each of the wires", async () => {
    const chat = chatOf("interviewer", "two");
    await chat.say("go");
    await chat.output("colour", "blue");
    expect(textIn(await chat.output("name", "Ada"))).toBe("Ada likes blue.");

    const asked = await openai().responses.create({ model: "interviewer", input: "go" });
    const half = await openai().responses.create({
      model: "interviewer",
      input: "Ada",
      previous_response_id: asked.id,
    });
    expect(half.output_text).toContain("colour");
    const end = await openai().responses.create({
      model: "interviewer",
      input: "blue",
      previous_response_id: half.id,
    });
    expect(end.output_text).toBe("Ada likes blue.");

    const client = await connectOld(server.url);
    const { request_id } = idsOf(await client.call("interviewer", { input: "go" }));
    await client.call("answer", { request_id, values: { name: "Ada" } });
    expect(textOf(await client.call("answer", { request_id, values: { colour: "blue" } }))).toBe(
      "Ada likes blue.",
    );

    const thread = threadOf("interviewer", "two");
    await thread.say("go");
    await thread.resume(["Ada", { colour: "blue" }]);
    expect(thread.said).toBe("Ada likes blue.");

    const a2a = await connect(server.url, "interviewer");
    const { id } = (await a2a.sendMessage(say("go"))) as Task;
    const rest = (await a2a.sendMessage(say({ colour: "blue" }, { taskId: id }))) as Task;
    expect(stateOf(rest)).toBe("INPUT_REQUIRED");
    expect(answerOf((await a2a.sendMessage(say("Ada", { taskId: id }))) as Task)).toBe("Ada likes blue.");

    await using editor = await Editor.here({ url: server.url, agent: "interviewer" });
    const session = await editor.open();
    for (const text of ["go", "Ada", "blue"]) await editor.prompt(session, text);
    expect(editor.said()).toContain("Ada likes blue.");
  });

  test("an agent whose child asks is driven over each of the wires", async () => {
    const bought = "Bought tea, receipt the shop:3.";
    const chat = chatOf("team", "child");
    await chat.say("buy tea for 3");
    expect(textIn(await chat.approve(true))).toBe(bought);

    const asked = await openai().responses.create({ model: "team", input: "buy tea for 3" });
    const [item] = asked.output.filter(({ type }) => type === "mcp_approval_request");
    const end = await openai().responses.create({
      model: "team",
      previous_response_id: asked.id,
      input: [{ type: "mcp_approval_response", approve: true, approval_request_id: item?.id ?? "" }],
    });
    expect(end.output_text).toBe(bought);

    const client = await connectOld(server.url);
    const { request_id } = idsOf(await client.call("team", { input: "buy tea for 3" }));
    expect(textOf(await client.call("answer", { request_id, values: { approved: true } }))).toBe(bought);

    const thread = threadOf("team", "child");
    await thread.say("buy tea for 3");
    await thread.resume([true]);
    expect(thread.said).toBe(bought);

    const a2a = await connect(server.url, "team");
    const { id } = (await a2a.sendMessage(say("buy tea for 3"))) as Task;
    expect(answerOf((await a2a.sendMessage(say({ approved: true }, { taskId: id }))) as Task)).toBe(bought);

    await using editor = await Editor.here({ url: server.url, agent: "team" });
    await editor.prompt(await editor.open(), "buy tea for 3");
    expect(editor.permissions).toHaveLength(1);
    expect(editor.said()).toContain(bought);
  });

  test("each client lists what there is, streams an answer, and cancels", async () => {
    const chat = chatOf("echo", "streams");
    expect(textIn(await chat.say("to be"))).toBe("to be");
    const stopped = chatOf("ticker", "stops");
    stopped.begin("2 60000");
    const reading = stopped.open().then((stream) => stopped.read(stream));
    await expect.poll(() => stopped.text).toContain("1");
    expect((await stopped.stop()).ok).toBe(true);
    await reading;
    expect(stopped.text).toContain('"type":"abort"');

    const { data: models } = await openai().models.list();
    expect(models.map(({ id }) => id)).toEqual(expect.arrayContaining(["echo", "ticker/count", "payments"]));
    const streamed = openai().chat.completions.stream({
      model: "echo",
      messages: [{ role: "user", content: "or not" }],
    });
    expect((await streamed.finalChatCompletion()).choices[0]?.message.content).toBe("or not");
    const working = await openai().responses.create({ model: "ticker", input: "2 60000", background: true });
    expect((await openai().responses.cancel(working.id)).status).toBe("cancelled");

    for (const connectMcp of [connectOld, connectNew]) {
      const client = await connectMcp(server.url);
      expect((await client.list()).map(({ name }) => name)).toEqual(
        expect.arrayContaining(["echo", "ticker__count", "answer"]),
      );
      const progress: unknown[] = [];
      const counted = await client.call(
        "ticker",
        { input: "2 1" },
        { onprogress: (one) => void progress.push(one) },
      );
      expect(textOf(counted)).toBe("1\n2\n");
      expect(progress).not.toEqual([]);
      const leaving = new AbortController();
      const left = client.call("ticker", { input: "2 60000" }, { signal: leaving.signal });
      leaving.abort();
      await expect(left).rejects.toThrow(/abort/i);
    }

    for (const binding of ["JSONRPC", "HTTP+JSON", "0.3"]) {
      const client = await connect(server.url, "ticker", binding);
      const told = await gather(client.sendMessageStream(say("2 1")));
      expect(told).toMatchObject({ text: "1\n2\n", isLast: true });
      const { id } = (await client.sendMessage(say("2 60000", { returnImmediately: true }))) as Task;
      expect(stateOf(await client.cancelTask({ tenant: "", id, metadata: undefined }))).toBe("CANCELED");
    }

    const thread = threadOf("ticker", "streams");
    await thread.say("2 1");
    expect(thread.said).toBe("1\n2\n");
    const asking = threadOf("interviewer", "cancels");
    await asking.say("go");
    expect(endOf(await asking.resume([undefined, undefined]))).toEqual({ type: "cancelled" });

    await using editor = await Editor.here({ url: server.url, agent: "ticker" });
    const session = await editor.open();
    expect(await editor.prompt(session, "2 1")).toMatchObject({ stopReason: "end_turn" });
    const prompted = editor.prompt(session, "3 60000");
    await expect.poll(() => editor.said()).toContain("1\n2\n1\n");
    await editor.cancel(session);
    expect(await prompted).toMatchObject({ stopReason: "cancelled" });
    const { sessions } = await editor.agent.request(methods.agent.session.list, { cwd: "/work" });
    expect(sessions.map(({ sessionId }) => sessionId)).toContain(session);
  });

  test("the source protocols begin a run, read it, and answer its questions", async () => {
    const { url, aip = "" } = server;
    for (const wire of wires.filter(({ name }) => name !== "AIP" || aip !== "")) {
      const at = { url, aip };
      const requestId = await wire.begin(at, "interviewer", "go");
      const { run_id: runId } = JSON.parse(await getText(`${at.url}/request/${requestId}`)) as {
        readonly run_id: string;
      };
      const run = { agent: "interviewer", runId, requestId };
      expect(JSON.parse(await getText(`${at.url}/request/${requestId}`))).toMatchObject({
        status: "waiting",
      });
      await wire.answer(at, run, { colour: "blue" });
      expect(await wire.answer(at, run, { name: "Ada" })).toContain("Ada likes blue.");
      expect(JSON.stringify(await wire.read(at, run))).toContain("Ada likes blue.");
      expect(await endsOf(requestId)).toEqual([1, 1]);
    }
  });
}
