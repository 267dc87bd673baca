import type { Case } from "../../case.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { checkGapless, checkWholeTurn, ofType, only, spokenText, checkBrackets } from "../../wire-event.ts";

/** Calls of tools and agents. */
export const tools: readonly Case[] = [
  {
    id: "31",
    title: "each call of a tool is followed by exactly one result",
    needs: ["calculator"],
    async run(context) {
      const events = await context.read(await context.start("calculator", "6 * 7"));
      checkEqual(checkWholeTurn(events, "success").result, "= 42", "the result");
      checkBrackets(events);
      const call = only(events, "ToolCall");
      const result = only(events, "ToolResult");
      checkEqual(call.function_name, "multiply", "function_name");
      checkEqual(call.args, { a: 6, b: 7 }, "args");
      checkEqual(result.function_name, "multiply", "function_name of the result");
      // Servers of the draft do not report the callee.
      if (call["callee"] !== undefined)
        checkEqual(call["callee"], { kind: "tool", name: "multiply" }, "the callee");
      checkEqual(result.result, { value: 42 }, "the structured result");
      checkEqual([call.depth, result.depth], [0, 0], "the depths");
    },
  },
  {
    id: "32",
    title: "a tool that throws gives a ToolError without internals, and the turn continues",
    needs: ["calculator"],
    async run(context) {
      const events = await context.read(await context.start("calculator", "1 / 0"));
      checkWholeTurn(events, "success");
      checkBrackets(events);
      const error = only(events, "ToolError");
      checkEqual(error.function_name, "divide", "function_name");
      check(typeof error.content === "string" && error.content !== "", "a content", error);
      const text = JSON.stringify(events);
      check(!INTERNALS.test(text), "no stack, path or internal object", text);
    },
  },
  {
    id: "33",
    title: "events of a called agent are one level deeper, between the call and its result",
    needs: ["team"],
    async run(context) {
      const events = await context.read(await context.start("team", "the moon"));
      checkWholeTurn(events, "success");
      checkGapless(events, 1);
      checkBrackets(events);
      const [call] = ofType(events, "ToolCall");
      const deeper = events.filter(({ depth }) => depth === 1);
      check(deeper.length > 0, "events at depth 1", events);
      for (const event of deeper) {
        checkEqual(event.agent, call?.function_name, "the agent at depth 1");
        checkEqual(event.request_id, events[0]?.request_id, "the request_id at depth 1");
      }
    },
  },
  {
    id: "33a",
    title: "the result of a called agent is its text",
    needs: ["team"],
    async run(context) {
      const events = await context.read(await context.start("team", "the moon"));
      const result = ofType(events, "ToolResult").find(({ depth }) => depth === 0);
      const said = ofType(events, "TextOutput").filter(({ depth }) => depth === 1);
      const text = said.map(({ content }) => String(content)).join("");
      check(typeof result?.text_result === "string", "a text_result", result);
      check(text !== "" && result.text_result.startsWith(text), `a text_result that says ${text}`, result);
      checkEqual(checkWholeTurn(events).result, spokenText(events), "the result of the turn");
    },
  },
  {
    id: "34",
    title: "an agent called by a called agent is two levels deeper, by the same rules",
    needs: ["team"],
    async run(context) {
      const events = await context.read(await context.start("team", "the moon"));
      checkBrackets(events);
      const depths = new Set(events.map(({ depth }) => depth));
      const wanted = depths.has(0) && depths.has(1) && depths.has(2) && depths.size === 3;
      check(wanted, "the depths 0, 1 and 2", [...depths]);
      const agents = [0, 1, 2].map((level) => events.find(({ depth }) => depth === level)?.agent);
      checkEqual(new Set(agents).size, 3, "the number of agents");
      checkEqual(
        ofType(events, "ToolCall").map(({ depth }) => depth),
        [0, 1],
        "the depths of the calls",
      );
    },
  },
];

/** Stack traces, source positions, and default texts that languages give to objects. */
const INTERNALS =
  /\\n\s+at |Traceback|node:internal|node_modules|file:\/\/|\.[jt]s:\d+|\[object |<\w+ object at/;
