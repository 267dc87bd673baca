import { isObject } from "../../../../protocol/json.ts";
import type { Case } from "../../case.ts";
import type { Context, StartedTurn } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem } from "../../http-client.ts";
import { checkWholeTurn, ofType, only } from "../../wire-event.ts";

/** Agents that are state machines. */
export const machines: readonly Case[] = [
  {
    id: "63",
    title: "a transition is a StateChanged of the described chart, and the status has the state",
    needs: ["order"],
    async run(context) {
      const turn = await book(context);
      const events = await context.read(turn);
      const change = only(events, "StateChanged");
      checkEqual([change.cause, change.status], ["book", "active"], "the cause and the status");
      check(Array.isArray(change["steps"]) && change["steps"].length > 0, "steps", change);
      const described = bodyOf(await context.http.ask("GET", `${context.path("order")}/describe`), 200);
      const { statechart } = described;
      check(isObject(statechart), "a statechart", described);
      checkEqual(change["chart"], statechart["hash"], "the chart");
      const status = await context.status(turn);
      checkEqual([status.status, status["state"]], ["waiting", change["value"]], "the status and the state");
    },
  },
  {
    id: "63a",
    title:
      "an operation that the machine does not take is refused with those that it takes, and changes nothing",
    needs: ["order"],
    async run(context) {
      const turn = await book(context);
      await context.read(turn);
      const before = await context.history(turn);
      const { accepts } = await context.status(turn);
      checkEqual(accepts, ["abort"], "what it accepts");
      const again = { type: "OperationRequest", operation: "book", input: {}, run_id: turn.runId };
      const problem = checkProblem(await context.process("order", again), 409);
      checkEqual(
        [problem["code"], problem["accepts"]],
        ["not_accepted", accepts],
        "the code and what it accepts",
      );
      checkEqual(await context.history(turn), before, "the history after the refusal");
    },
  },
  {
    id: "63b",
    title: "an operation that the machine takes joins its open turn, and has an end of its own",
    needs: ["order"],
    async run(context) {
      const turn = await book(context);
      await context.read(turn);
      const abort = { type: "OperationRequest", operation: "abort", input: {}, run_id: turn.runId };
      const end = bodyOf(await context.process("order", abort, { wait: "completed" }), 200);
      checkEqual([end.finish_reason, end.output], ["success", null], "the end of the operation");
      const history = await context.history(turn);
      const own = history.filter(({ request_id: request }) => request === turn.requestId);
      checkWholeTurn(own, "success");
      const [received] = ofType(own, "MessageReceived");
      checkEqual(
        [received?.["name"], received?.["message_id"]],
        ["abort", end.request_id],
        "the operation in the open turn",
      );
      checkEqual(ofType(own, "StateChanged").at(-1)?.["cause"], "abort", "the cause of the last transition");
      const joined = history.filter(({ request_id: request }) => request === end.request_id);
      checkEqual(
        joined.map(({ type }) => type),
        ["RequestStarted", "RequestCompleted"],
        "the events of the operation",
      );
    },
  },
];

function book(context: Context): Promise<StartedTurn> {
  const request = { type: "OperationRequest", operation: "book", input: { item: "a lamp" } };
  return context.startEndless("order", request, { key: context.newId() });
}
