import type { Case } from "../../case.ts";
import type { AgentRole } from "../../roles.ts";
import type { Context } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { checkGapless, checkWholeTurn, ofType, spokenText } from "../../wire-event.ts";
import type { WireEvent } from "../../wire-event.ts";

/** The events of a turn. */
export const turns: readonly Case[] = [
  {
    id: "17",
    title: "a stream starts with RequestStarted, ends with RequestCompleted, and closes",
    needs: ["echo"],
    async run(context) {
      const events = await context.read(await context.start("echo", "one two three"));
      checkWholeTurn(events, "success");
      checkEqual(ofType(events, "TextOutput").length, 3, "the number of texts");
    },
  },
  ...(["echo", "calculator", "team", "payments", "pdf-writer"] as const).map((role, index): Case => ({
    id: `18${"abcde"[index]}`,
    title: `each event of ${role} has all its fields`,
    needs: [role],
    run: (context) => checkFields(context, role),
  })),
  {
    id: "19",
    title: "ids increase by one across turns",
    needs: ["echo"],
    async run(context) {
      const first = await context.start("echo", "one two three");
      const events = await context.read(first);
      for (const input of ["four", "five six"]) {
        events.push(...(await context.read(await context.start("echo", input, { run_id: first.runId }))));
      }
      checkGapless(events, 1);
      checkEqual(await context.history(first), events, "the history of the run");
    },
  },
  {
    id: "20",
    title: "the result is the whole text, with any characters",
    needs: ["echo"],
    async run(context) {
      for (const input of [
        "one two",
        "  spaces   in\tall \n places  ",
        "ünïcödé 漢字 👩‍👩‍👧 \u2028 \u2029 \u0085",
        'data: x\n\nid: 7\r\nevent: y\rretry: 0\n: hb "\\" \u0007',
        "</script><img src=x onerror=alert(1)>",
      ]) {
        const events = await context.read(await context.start("echo", input));
        checkEqual(spokenText(events), input, "the text");
        checkEqual(checkWholeTurn(events, "success").result, input, "the result");
      }
    },
  },
  {
    id: "20b",
    title: "a turn with an output has a result too: its text",
    needs: ["echo", "payments"],
    async run(context) {
      const input = { text: "a", times: 3 };
      const repeat = { type: "OperationRequest", operation: "repeat", input };
      const events = await context.read(await context.start("echo", repeat));
      const completed = checkWholeTurn(events, "success");
      checkEqual(completed.result, spokenText(events), "the result");
      checkEqual(completed.output, { text: "aaa" }, "the output");
    },
  },
  {
    id: "20a",
    title: "a stream delivers a thousand events in a few seconds",
    needs: ["echo"],
    async run(context) {
      const input = { text: "a", times: 1000 };
      const turn = await context.start("echo", { type: "OperationRequest", operation: "repeat", input });
      const live = await context.read(turn);
      checkEqual(ofType(live, "TextOutput").length, 1000, "the number of texts");
      // The agent's speed depends on the log and its disk, so only the delivery is measured.
      const start = performance.now();
      checkEqual(await context.read(turn), live, "the later stream");
      const elapsedMs = performance.now() - start;
      check(elapsedMs < 5_000, "1,000 events within 5 s", `${Math.round(elapsedMs)} ms`);
    },
  },
];

const INPUTS = {
  echo: "hello there",
  calculator: "6 * 7",
  team: "the moon",
  payments: "pay 30 to bob",
  "pdf-writer": "Moon: it is far away",
} as const;

const ROLE_OF_TYPE: Readonly<Record<string, string>> = {
  RequestStarted: "system",
  RequestCompleted: "system",
  CompletionCall: "system",
  CompletionResult: "system",
  ReasoningOutput: "system",
  TextOutput: "assistant",
  WaitForInput: "assistant",
  ArtifactGenerated: "assistant",
  ToolCall: "tool",
  ToolResult: "tool",
  ToolError: "tool",
  ToolTextOutput: "tool",
  ResumeWithInput: "user",
  CancelRequest: "user",
};

/** The type-specific fields and their types. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  RequestStarted: { operation: "string" },
  RequestCompleted: { finish_reason: "string" },
  TextOutput: { content: "string" },
  WaitForInput: { request_keys: "object", wait_id: "number" },
  ToolCall: { function_name: "string", args: "object", tool_call_id: "string" },
  ToolResult: { function_name: "string", text_result: "string", tool_call_id: "string" },
  ArtifactGenerated: { name: "string", artifact_id: "string", url: "string", mime_type: "string" },
};

async function checkFields(context: Context, role: keyof typeof INPUTS & AgentRole): Promise<void> {
  const descriptor = await context.http.ask("GET", `${context.path(role)}/describe`);
  const { name } = Object(descriptor.json) as { name?: unknown };
  const turn = await context.start(role, INPUTS[role]);
  const events = await context.read(turn);
  check(events.length > 1, "events", events);
  for (const event of events) {
    checkEqual(event.run_id, turn.runId, "run_id");
    checkEqual(event.request_id, turn.requestId, "request_id");
    check(Number.isInteger(event.depth) && Number(event.depth) >= 0, "a depth of 0 or more", event);
    check(typeof event.agent === "string", "an agent", event);
    if (event.depth === 0) checkEqual(event.agent, name, "agent at depth 0");
    else check(typeof event.parent_call_id === "string", "a parent_call_id below depth 0", event);
    check(typeof event.ts === "string" && ISO_TIME.test(event.ts), "an ISO 8601 ts in UTC", event);
    const known = ROLE_OF_TYPE[event.type];
    if (known !== undefined) checkEqual(event.role, known, `the role of ${event.type}`);
    checkOwnFields(event);
  }
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)$/;

function checkOwnFields(event: WireEvent): void {
  for (const [field, kind] of Object.entries(FIELDS[event.type] ?? {})) {
    check(typeof event[field] === kind, `${field} as ${kind} on ${event.type}`, event);
  }
  if (event.type === "WaitForInput") checkEqual(event.wait_id, event.id, "wait_id");
}
