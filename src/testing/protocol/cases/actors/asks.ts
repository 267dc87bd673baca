import { isObject } from "../../../../protocol/json.ts";
import type { Fields } from "../../../../protocol/json.ts";
import type { Case } from "../../case.ts";
import type { Context, StartedTurn } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem } from "../../http-client.ts";
import { checkBrackets, checkWholeTurn, ofType, only } from "../../wire-event.ts";
import type { WireEvent } from "../../wire-event.ts";

/** Actors that ask and tell each other. */
export const asks: readonly Case[] = [
  {
    id: "62",
    title: "an ask is a ToolCall with the answer as its result, and a turn of the other actor's own run",
    needs: ["member", "room"],
    async run(context) {
      const [ada, room] = [context.newId(), context.newId()];
      const turn = await begin(context, ada, "enter", { room });
      const events = await context.read(turn);
      checkEqual(checkWholeTurn(events, "success").output, 1, "the output");
      checkBrackets(events);
      const call = only(events, "ToolCall");
      const callee = calleeOf(call);
      checkEqual(call["mode"], "ask", "the mode");
      checkEqual([callee["kind"], callee["key"]], ["actor", room], "the kind and the key of the callee");
      checkEqual(only(events, "ToolResult").result, 1, "the result");
      const there = await turnOf(context, call);
      checkEqual(checkWholeTurn(there, "success").output, 1, "the output of the other turn");
      check(there[0]?.run_id !== turn.runId, "a run of its own", there);
      const sender = there[0]?.["sender"];
      check(isObject(sender), "a sender", there[0]);
      checkEqual([sender["key"], sender["run_id"]], [ada, turn.runId], "the key and the run of the sender");
    },
  },
  {
    id: "62a",
    title: "a tell ends with the run and the request of the turn that it started",
    needs: ["member", "room"],
    async run(context) {
      const [ada, bob, room] = [context.newId(), context.newId(), context.newId()];
      for (const key of [ada, bob]) await context.read(await begin(context, key, "enter", { room }));
      const turn = await begin(context, ada, "speak", { room, text: "hello" });
      const events = await context.read(turn);
      const there = await turnOf(context, only(events, "ToolCall"));
      const call = only(there, "ToolCall");
      const callee = calleeOf(call);
      checkEqual([call["mode"], callee["key"]], ["tell", bob], "the mode and the key");
      const told = only(there, "ToolResult").result;
      check(isObject(told), "a result with the request", told);
      checkEqual(told["request_id"], callee["request_id"], "the request of the tell");
      const heard = await context.http.ask("GET", `/getevents/${String(told["request_id"])}`, {
        query: { stream: true },
      });
      check(heard.text.includes("RequestCompleted"), "the end of the told turn", heard);
      const all = await begin(context, bob, "heard", {});
      const { output } = checkWholeTurn(await context.read(all), "success");
      checkEqual(output, [`${ada}: hello`], "what the other member has heard");
    },
  },
  {
    id: "62b",
    title: "an ask of the own actor ends at once with would_deadlock",
    needs: ["member"],
    async run(context) {
      const ada = context.newId();
      const events = await context.read(await begin(context, ada, "greet", { to: ada }));
      checkWholeTurn(events);
      checkEqual(only(events, "ToolError").code, "would_deadlock", "the code");
    },
  },
  {
    id: "62c",
    title: "of two actors that ask each other one gets would_deadlock and the other one its answer",
    needs: ["member"],
    async run(context) {
      const [ada, bob] = [context.newId(), context.newId()];
      const turns = [
        await begin(context, ada, "greet", { to: bob }),
        await begin(context, bob, "greet", { to: ada }),
      ];
      const events = await Promise.all(turns.map((turn) => context.read(turn)));
      for (const turn of events) checkWholeTurn(turn, "success");
      const errors = events.flatMap((turn) => ofType(turn, "ToolError"));
      checkEqual(
        errors.map(({ code }) => code),
        ["would_deadlock"],
        "the codes of all errors",
      );
      checkEqual(events.flatMap((turn) => ofType(turn, "ToolResult")).length, 1, "the number of answers");
    },
  },
  {
    id: "62d",
    title: "a turn that waits for an actor is running and says so, and its cancel cancels the other turn",
    needs: ["member", "room"],
    async run(context) {
      const [ada, room] = [context.newId(), context.newId()];
      const turn = await begin(context, ada, "speak", { room, text: "late", afterMs: 600_000 });
      const stream = await context.stream(turn);
      const call = only(await stream.until(({ type }) => type === "ToolCall", "a ToolCall"), "ToolCall");
      const asked = String(calleeOf(call)["request_id"]);
      const status = await statusAtRest(context, turn);
      checkEqual(status.status, "running", "the status");
      checkEqual((status.waiting_for as Fields)["kind"], "actor", "what it waits for");
      const other = await context.http.stream(`/getevents/${asked}`, { query: { stream: true } });
      await other.until(({ type }) => type === "Sleeping", "the sleep of the other turn");
      bodyOf(await context.cancel(turn, { wait: "completed" }), 200);
      checkEqual(only(await stream.rest(), "ToolError").code, "canceled", "the code of the call");
      const end = only(await other.rest(), "RequestCompleted");
      checkEqual(end.finish_reason, "canceled", "the finish_reason of the other turn");
    },
  },
  {
    id: "62e",
    title: "an unknown operation of an actor is refused, and creates no run",
    needs: ["member"],
    async run(context) {
      const key = context.newId();
      const body = { type: "OperationRequest", operation: "no_such_operation", input: {}, key };
      checkProblem(await context.process("member", body), 404);
      const listed = await context.http.ask("GET", `${context.path("member")}/runs`, { query: { key } });
      checkEqual(listed.json, [], "the runs with the key");
    },
  },
];

/** Starts an operation of a member. */
function begin(context: Context, key: string, operation: string, input: Fields): Promise<StartedTurn> {
  return context.start("member", { type: "OperationRequest", operation, input, key });
}

/**
 * The status of a turn when it waits for something. No event says that its ask was accepted, so it is read again until
 * the time limit of a wait. A server in the same process works between two reads.
 */
async function statusAtRest(context: Context, turn: StartedTurn): Promise<Fields> {
  const end = performance.now() + context.http.timeoutMs;
  for (;;) {
    const status = await context.status(turn);
    if (isObject(status["waiting_for"])) return status;
    check(performance.now() < end, `waiting_for within ${context.http.timeoutMs} ms`, status);
    await new Promise((resolve) => {
      setTimeout(resolve);
    });
  }
}

/** The events of the turn that a call of an actor started. */
async function turnOf(context: Context, call: WireEvent): Promise<WireEvent[]> {
  const stream = await context.http.stream(`/getevents/${String(calleeOf(call)["request_id"])}`, {
    query: { stream: true },
  });
  return stream.rest();
}

function calleeOf(call: WireEvent): Fields {
  const { callee } = call;
  check(isObject(callee) && typeof callee["request_id"] === "string", "a callee with a request_id", call);
  return callee;
}
