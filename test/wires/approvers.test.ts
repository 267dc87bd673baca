import { createRuntime, defineAgent } from "troupe";
import type { Model, Principal } from "troupe";
import { aipGateway } from "troupe/adapters/aip";
import { createClient } from "troupe/client";
import type { JsonObject } from "troupe/protocol";
import { serve } from "troupe/node";
import OpenAI from "openai";
import type { ChatCompletion } from "openai/resources/chat/completions";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { openWires, WIRES } from "../../src/cli/serve/wires.ts";
import { Editor } from "../adapters/acp/editor.ts";
import { connectNew, connectOld, idsOf, textOf } from "../adapters/mcp/clients.ts";
import { textIn, UiChat } from "../adapters/ui/harness/server.ts";
import type { Addresses } from "./serve-wires.ts";
import { getText, post, wires } from "./wires.ts";
import type { Run, Wire } from "./wires.ts";
import { shortened } from "../machine/long.ts";

const ANN: Principal = { id: "ann", owner: "default", roles: ["user"] };
const FAY: Principal = { id: "fay", owner: "default", roles: ["user", "finance"] };

const payer = defineAgent({
  name: "payer",
  purpose: "Asks finance before it pays.",
  async chat(_input, turn) {
    const asked = z.object({ approved: z.boolean().describe("Pay 250 EUR?") });
    const { approved } = await turn.waitForInput(asked, { approvers: ["finance"] });
    return approved ? "Paid." : "Not paid.";
  },
});

const saver = defineAgent({
  name: "saver",
  purpose: "Asks a model, for which its run has no budget.",
  async chat(_input, turn) {
    await turn.complete({ model: costly, input: null });
    return "Done.";
  },
});

const costly: Model = {
  name: "costly",
  async *generate() {
    yield { type: "result", result: null, usage: { input_tokens: 4 } };
  },
};

/** Who makes the requests. AIP has no authentication: there it is always a user without further roles. */
let who = ANN;
let at: Addresses;
let close: () => Promise<void>;

beforeAll(async () => {
  const runtime = createRuntime({
    agents: [payer, saver],
    owners: () => ({ agents: { saver: { tokensPerRun: 0 } }, budgetApprovers: ["finance"] }),
  });
  const server = await serve(runtime, {
    port: 0,
    drain: false,
    authenticate: () => who,
    adapters: await openWires(WIRES),
    listeners: [aipGateway({ open: true })],
  });
  at = { url: server.url, aip: server.listeners[0]?.address ?? "" };
  close = async () => {
    await server.close();
    await runtime.close();
  };
});
afterAll(() => close());
beforeEach(() => {
  who = ANN;
});

interface Status {
  readonly run_id: string;
  readonly status: string;
  readonly result?: string;
}

async function statusOf(requestId: string): Promise<Status> {
  return JSON.parse(await getText(`${at.url}/request/${requestId}`)) as Status;
}

/** Answers over a wire; over that without authentication nobody has further roles, so it is answered beside it. */
async function answerAs(wire: Wire, run: Run, keys: JsonObject): Promise<void> {
  if (wire.name !== "AIP") {
    await wire.answer(at, run, keys);
    return;
  }
  const answer = { type: "ResumeWithInput", request_id: run.requestId, request_keys: keys };
  await post(`${at.url}/${run.agent}/process?wait=completed`, answer);
}

test.each(shortened(wires, 2))(
  "over $name, who is no approver reads the question and cannot answer it, and the approver can",
  async (wire) => {
    const requestId = await wire.begin(at, "payer", "pay");
    const { run_id: runId } = await statusOf(requestId);
    const run = { agent: "payer", runId, requestId };
    const shown = JSON.stringify(await wire.read(at, run));
    expect(shown).toContain("Pay 250 EUR?");
    expect(shown).not.toContain("properties");

    const refused = await wire.answer(at, run, { approved: true }).catch(String);
    expect(refused).toContain("finance");
    expect(refused).not.toContain("Paid");
    expect(await statusOf(requestId)).toMatchObject({ status: "waiting" });

    who = FAY;
    await answerAs(wire, run, { approved: true });
    expect(await statusOf(requestId)).toMatchObject({ status: "completed", result: "Paid." });
  },
);

test.each(shortened(wires, 2))(
  "over $name, a budget is a question, which its approver answers",
  async (wire) => {
    const requestId = await wire.begin(at, "saver", "go");
    const { run_id: runId } = await statusOf(requestId);
    const run = { agent: "saver", runId, requestId };
    expect(JSON.stringify(await wire.read(at, run))).toContain("This run has used 0 of 0 tokens");
    const refused = await wire.answer(at, run, { raise: 9 }).catch(String);
    expect(refused).toContain("finance");
    expect(await statusOf(requestId)).toMatchObject({ status: "waiting" });
    who = FAY;
    await answerAs(wire, run, { raise: 9 });
    expect(await statusOf(requestId)).toMatchObject({ status: "completed", result: "Done." });
  },
);

/** What a client shows of a question, and how its person answers it. */
interface Asked {
  readonly text: string;
  /** Resolves with what the agent says then. */
  answer(raise: number): Promise<string>;
}

/** The unmodified clients of the other wires. */
const clients: Readonly<Record<string, (close: AsyncDisposableStack) => Promise<Asked>>> = {
  async "Chat Completions"() {
    const openai = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: "none", maxRetries: 0 });
    const { choices, metadata } = (await openai.chat.completions.create({
      model: "saver",
      messages: [{ role: "user", content: "go" }],
    })) as ChatCompletion & { readonly metadata: { readonly run_id: string } };
    expect(choices[0]?.finish_reason).toBe("stop");
    return {
      text: choices[0]?.message.content ?? "",
      async answer(raise) {
        const body = { model: "saver", metadata: { run_id: metadata.run_id } };
        const said = [{ role: "user", content: String(raise) }] as const;
        const answer = await openai.chat.completions.create({ ...body, messages: [...said] });
        return answer.choices[0]?.message.content ?? "";
      },
    };
  },
  async "Chat Completions as a stream"() {
    const openai = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: "none", maxRetries: 0 });
    const say = async (content: string, metadata: Record<string, string> = {}) => {
      const stream = await openai.chat.completions.create({
        model: "saver",
        messages: [{ role: "user", content }],
        metadata,
        stream: true,
      });
      let [text, runId, reason] = ["", "", ""];
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
        reason = chunk.choices[0]?.finish_reason ?? reason;
        runId ||= (chunk as { readonly metadata?: { readonly run_id: string } }).metadata?.run_id ?? "";
      }
      expect(reason).toBe("stop");
      return { text, runId };
    };
    const { text, runId } = await say("go");
    return { text, answer: async (raise) => (await say(String(raise), { run_id: runId })).text };
  },
  async "OpenAI's responses"() {
    const openai = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: "none", maxRetries: 0 });
    const { id, output_text: text } = await openai.responses.create({ model: "saver", input: "go" });
    return {
      text,
      async answer(raise) {
        const body = { model: "saver", input: String(raise), previous_response_id: id };
        return (await openai.responses.create(body)).output_text;
      },
    };
  },
  MCP: () => askOver(connectNew),
  "MCP of 2025": () => askOver(connectOld),
  async ACP(close) {
    const editor = close.use(await Editor.here({ url: at.url, agent: "saver" }));
    const session = await editor.open();
    await editor.prompt(session, "go");
    return {
      text: editor.said(),
      // An editor sees a run as the one who has opened it.
      async answer(raise) {
        const other = close.use(await Editor.here({ url: at.url, agent: "saver" }));
        await other.load(session);
        await other.prompt(session, String(raise));
        await expect.poll(() => editor.said()).toContain("Done.");
        return other.said();
      },
    };
  },
  async "the AI SDK"() {
    const chat = new UiChat(() => `${at.url}/ui/saver`, "budget");
    return {
      text: JSON.stringify(await chat.say("go")),
      answer: async (raise) => textIn(await chat.output("tokens", { raise })),
    };
  },
};

async function askOver(connect: typeof connectOld): Promise<Asked> {
  const client = await connect(at.url);
  const asked = await client.call("saver", { input: "go" });
  const { request_id } = idsOf(asked);
  return {
    text: textOf(asked),
    async answer(raise) {
      const given = await client.call("answer", { request_id, values: { raise } });
      if (given.isError === true) throw new Error(textOf(given));
      return textOf(given);
    },
  };
}

test.each(Object.entries(clients))(
  "over %s, a run over its budget waits, and is raised by its approver",
  async (_, ask) => {
    await using close = new AsyncDisposableStack();
    const { text, answer } = await ask(close);
    expect(text).toContain("This run has used 0 of 0 tokens");
    await expect(answer(9)).rejects.toThrow("is for finance to answer; the question stays open");
    who = FAY;
    expect(await answer(9)).toContain("Done.");
  },
);

test("a client learns from the code of the refusal that it is no approver", async () => {
  const client = createClient(at.url);
  const call = client.agent("payer").chat("pay");
  const asked = await call.then(undefined, (error: unknown) => error);
  expect(asked).toMatchObject({ code: "waiting" });
  const [wait] = call.waits;
  expect(wait).toMatchObject({ question: "Pay 250 EUR?", approvers: ["finance"], questions: {} });
  await expect(wait?.answer({ approved: true })).rejects.toMatchObject({
    code: "not_an_approver",
    details: { facts: { approvers: ["finance"] } },
  });
  who = FAY;
  await wait?.answer({ approved: true });
  await expect(call).resolves.toBe("Paid.");
});
