import type { Case } from "../../case.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem } from "../../http-client.ts";
import { checkGapless, checkWholeTurn, ofType, only, spokenText, checkBrackets } from "../../wire-event.ts";
import type { WireEvent } from "../../wire-event.ts";

/** Canceling requests in every phase. */
export const cancels: readonly Case[] = [
  {
    id: "44",
    title: "a running request is canceled, and its readers receive the end",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.startSlow();
      const stream = await context.stream(turn);
      const before = await stream.until(({ type }) => type === "TextOutput", "the first number");
      const completed = bodyOf(await context.cancel(turn, { wait: true }), 200);
      checkEqual(completed.type, "RequestCompleted", "the type");
      checkEqual(completed.finish_reason, "canceled", "the finish_reason");
      const after = await stream.rest();
      checkEqual(
        // A server can also say that the agent sleeps.
        after.map(({ type }) => type).filter((type) => type !== "Sleeping"),
        ["CancelRequest", "RequestCompleted"],
        "the types after the cancel",
      );
      checkEqual(after.at(-1), completed, "the end that the reader sees");
      checkWholeTurn([...before, ...after], "canceled");
      checkEqual((await context.status(turn)).status, "completed", "the status");
      checkEqual((await context.status(turn)).finish_reason, "canceled", "the finish_reason in the status");
    },
  },
  {
    id: "44a",
    title: "a cancel without wait is a 202",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.startSlow();
      bodyOf(await context.cancel(turn), 202);
      checkWholeTurn(await context.read(turn), "canceled");
    },
  },
  {
    id: "44b",
    title: "disconnecting cancels nothing",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.start("ticker", "30 20");
      const streams = await Promise.all([context.stream(turn), context.stream(turn)]);
      await Promise.all(streams.map((stream) => stream.next()));
      for (const stream of streams) stream.close();
      checkWholeTurn(await context.read(turn), "success");
    },
  },
  {
    id: "45",
    title: "a waiting request is canceled",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      await context.read(turn);
      const { finish_reason } = bodyOf(await context.cancel(turn, { wait: true }), 200);
      checkEqual(finish_reason, "canceled", "the finish_reason");
      checkProblem(await context.resume(turn, { approved: true }), 409);
      checkGapless(await context.history(turn), 1);
      checkWholeTurn(await context.history(turn), "canceled");
    },
  },
  {
    id: "45a",
    title: "a cancel ends the open calls, the deepest first",
    needs: ["team"],
    async run(context) {
      const turn = await context.startEndless("team", "buy a lamp for 5");
      await context.read(turn);
      bodyOf(await context.cancel(turn, { wait: true }), 200);
      const events = await context.history(turn);
      checkWholeTurn(events, "canceled");
      checkBrackets(events);
      const errors = ofType(events, "ToolError");
      check(errors.length > 0, "a ToolError for each open call", events);
      for (const { code } of errors) checkEqual(code, "canceled", "the code");
      const depths = errors.map(({ depth }) => Number(depth));
      checkEqual(
        depths,
        depths.toSorted((a, b) => b - a),
        "the order of the depths",
      );
    },
  },
  {
    id: "46",
    title: "a queued request is canceled before its agent runs",
    needs: ["ticker"],
    async run(context) {
      const busy = await context.startSlow();
      const queued = await context.enqueue(busy, "3 1");
      checkEqual((await context.status(queued)).status, "queued", "the status");
      const { finish_reason } = bodyOf(await context.cancel(queued, { wait: true }), 200);
      checkEqual(finish_reason, "canceled", "the finish_reason");
      const events = await context.read(queued);
      checkWholeTurn(events, "canceled");
      checkEqual(spokenText(events), "", "the text");
      checkEqual((await context.status(busy)).status, "running", "the status of the other request");
      checkGapless(await context.history(busy), 1);
    },
  },
  {
    id: "47",
    title: "the cancel of a completed request returns its end, and adds nothing",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "hello there");
      const events = await context.read(turn);
      for (const query of [{ wait: true }, {}]) {
        checkEqual(bodyOf(await context.cancel(turn, query), 200), events.at(-1), "the answer");
      }
      checkEqual(await context.history(turn), events, "the history");
    },
  },
  {
    id: "48",
    title: "the cancel of an unknown request is a 404",
    needs: ["echo"],
    async run(context) {
      const body = { type: "CancelRequest", request_id: context.newId() };
      for (const query of [{}, { wait: true }]) {
        checkProblem(await context.process("echo", body, query), 404);
      }
    },
  },
  {
    id: "49",
    title: "the next request in a run works after a cancel",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.startSlow();
      await context.cancel(turn, { wait: true });
      const next = await context.start("ticker", "3 1", { run_id: turn.runId });
      const events = await context.read(next);
      checkWholeTurn(events, "success");
      checkEqual(spokenText(events), "1\n2\n3\n", "the text");
      checkGapless(await context.history(turn), 1);
    },
  },
  {
    id: "50",
    title: "an agent that ignores the cancel is ended within a second, and its later output is dropped",
    needs: ["stubborn"],
    async run(context) {
      const turn = await context.start("stubborn", "hello");
      await (await context.stream(turn)).until(({ type }) => type !== "RequestStarted", "any output");
      bodyOf(await context.cancel(turn, { wait: true }), 200);
      const events = await context.history(turn);
      checkWholeTurn(events, "canceled");
      const elapsedMs = timeOf(only(events, "RequestCompleted")) - timeOf(only(events, "CancelRequest"));
      check(elapsedMs <= CANCEL_LIMIT_MS, `the end within ${CANCEL_LIMIT_MS} ms`, `${elapsedMs} ms`);
      // The agent still produces output, which no longer belongs to a turn.
      const next = await context.startEndless("stubborn", "hello", { run_id: turn.runId });
      await (await context.stream(next)).until(({ type }) => type === "TextOutput", "any output");
      const later = await context.history(turn);
      checkGapless(later, 1);
      checkEqual(later.slice(0, events.length), events, "the events up to the end");
      for (const event of later.slice(events.length)) {
        checkEqual(event.request_id, next.requestId, "the request_id of what follows the end");
      }
    },
  },
];

// One second, plus a margin for a loaded machine.
const CANCEL_LIMIT_MS = 1_500;

function timeOf({ ts }: WireEvent): number {
  return Date.parse(String(ts));
}
