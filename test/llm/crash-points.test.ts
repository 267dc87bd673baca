/** @module-tag long */
import { defineTool } from "troupe";
import type { Agent, Model } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { Event, Json, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { calculator } from "../../agents/calculator.ts";
import { payments } from "../../agents/payments.ts";
import { ofType } from "../agents/events.ts";
import { TestHost } from "../runtime/test-host.ts";
import type { CommitFault } from "../runtime/test-host.ts";

/** The outside effects, which survive every crash. */
interface Deeds {
  /** The requested completions, distinguished by their prompts. */
  readonly asked: string[];
  /** What each completion was asked last. */
  readonly inputs: Map<string, Json>;
  readonly sent: string[];
}

const read = defineTool({
  name: "read",
  description: "Reads a page.",
  input: z.object({ page: z.number() }),
  effect: "idempotent",
  async run({ page }, turn) {
    await turn.text(`page ${page}`);
    return "x".repeat(600);
  },
});

/**
 * An agent whose model makes parallel calls, needs approval, calls asking agents, and whose conversation is
 * summarized.
 */
function clerk(deeds: Deeds): Agent {
  const send = defineTool({
    name: "send",
    description: "Sends a letter.",
    input: z.object({ to: z.string() }),
    run: ({ to }) => {
      deeds.sent.push(to);
      return "sent";
    },
  });
  const script = scriptedModel(({ instructions, messages }) => {
    if (instructions !== "Work.") return "Pages were read.";
    const calls = messages.flatMap((message) =>
      message.role === "assistant" ? (message.toolCalls ?? []) : [],
    );
    const names = new Set(calls.map(({ name }) => name));
    if (names.has("payments__pay")) return "All is done.";
    if (names.has("read")) {
      return {
        text: "Now the money. ",
        toolCalls: [
          { name: "payments__pay", input: { to: "bob", amount: 2 } },
          { name: "calculator", input: { input: "6 / 3" } },
        ],
      };
    }
    return {
      text: "I begin. ",
      toolCalls: [
        { name: "read", input: { page: 1 } },
        { name: "send", input: { to: "ada" } },
        { name: "read", input: { page: 2 } },
        { name: "send", input: { to: "eve" } },
      ],
    };
  });
  const model: Model = {
    name: "recorded",
    generate(input, context) {
      // The log has the call id without its run.
      const callId = context.callId.slice(context.callId.indexOf(".") + 1);
      deeds.asked.push(callId);
      deeds.inputs.set(callId, input);
      return script.generate(input, context);
    },
  };
  return llmAgent({
    name: "clerk",
    purpose: "Works.",
    instructions: "Work.",
    model,
    tools: [read, send],
    agents: [calculator, payments],
    approve: ["send"],
    historyTokens: 200,
  });
}

/** Runs the agent, approves everything, and restarts the process each time it dies. */
async function work(commitFaults: readonly CommitFault[]): Promise<{
  readonly events: readonly Event[];
  readonly deeds: Deeds;
  readonly commits: number;
  /** The completions in the log at the time of the crash. */
  readonly known: readonly string[];
  /** What the log says that each completion was asked. */
  readonly prompts: ReadonlyMap<string, Json>;
}> {
  const deeds: Deeds = { asked: [], inputs: new Map(), sent: [] };
  const host = new TestHost({ agents: [clerk(deeds)], commitFaults });
  const request_id = "r1" as RequestId;
  let known: readonly string[] = [];
  const revive = async (): Promise<void> => {
    if (!host.crashed) return;
    deeds.asked.push("crash");
    known = ofType(await host.events(request_id), "CompletionResult").map(({ call_id }) => call_id);
    await host.restart();
  };
  const tell = async (request: Parameters<TestHost["ask"]>[1]): Promise<void> => {
    void host.ask("clerk", request).catch(() => {});
    await host.environment.idle();
    await revive();
  };

  await tell({ type: "ChatRequest", input: "go", request_id });
  if ((await host.events(request_id)).length === 0)
    await tell({ type: "ChatRequest", input: "go", request_id });
  for (;;) {
    const events = await host.events(request_id);
    if (events.at(-1)?.type === "RequestCompleted") {
      return { events, deeds, commits: host.commits, known, prompts: await promptsOf(host, events) };
    }
    const answered = new Set(ofType(events, "ResumeWithInput").map(({ wait_id }) => wait_id));
    const open = ofType(events, "WaitForInput").find(({ id }) => !answered.has(id));
    if (open === undefined) throw new Error(`nothing continues after ${JSON.stringify(events.at(-1))}`);
    const request_keys: { readonly [key: string]: Json } = { approved: true };
    await tell({ type: "ResumeWithInput", request_id, wait_id: open.id, request_keys });
  }
}

/** The prompts of all completions of a turn. */
async function promptsOf(host: TestHost, events: readonly Event[]): Promise<ReadonlyMap<string, Json>> {
  const prompts = new Map<string, Json>();
  for (const { call_id: callId, request_id } of ofType(events, "CompletionCall")) {
    const prompt = await host.runtime.inspection.completion(request_id ?? "", callId);
    const { instructions = "", messages, tools = [], settings } = prompt;
    prompts.set(callId, { ...settings, instructions, messages, tools });
  }
  return prompts;
}

test("wherever the process dies, the turn ends and requests no completion again that is in the log", async () => {
  const whole = await work([]);
  expect(whole.events.at(-1)).toMatchObject({
    finish_reason: "success",
    result: "I begin. Now the money. All is done.",
  });
  expect(whole.deeds.sent).toEqual(["ada", "eve"]);
  expect(whole.prompts).toEqual(whole.deeds.inputs);
  expect(whole.prompts.size).toBeGreaterThan(3);
  expect(ofType(whole.events, "ReasoningOutput").length).toBeGreaterThan(0);

  const points = Array.from({ length: whole.commits }, (_, index) => index + 1);
  for (const written of [false, true]) {
    for (const commit of points) {
      const { events, deeds, known, prompts } = await work([{ commit, kind: "crash", written }]);
      const again = deeds.asked.slice(deeds.asked.indexOf("crash") + 1);
      expect({
        where: `crashed ${written ? "after" : "before"} commit ${commit}`,
        result: ofType(events, "RequestCompleted").map(({ result }) => result),
        askedAgain: again.filter((callId) => known.includes(callId)),
        // An unsafe effect ran once, or the model has read that its outcome is unknown.
        sentAgain: deeds.sent.filter((to, index) => deeds.sent.indexOf(to) < index),
        prompts,
      }).toEqual({
        where: expect.any(String) as string,
        result: ["I begin. Now the money. All is done."],
        askedAgain: [],
        sentAgain: [],
        prompts: deeds.inputs,
      });
    }
  }
});
