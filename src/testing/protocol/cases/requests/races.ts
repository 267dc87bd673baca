import type { Case } from "../../case.ts";
import { repeat } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { checkStatus } from "../../http-client.ts";
import { checkGapless, checkWholeTurn, ofType } from "../../wire-event.ts";

/** A cancel that races with other events. */
export const races: readonly Case[] = [
  {
    id: "51",
    title: "a cancel races with the end: the first one in the log decides, and there is one end",
    needs: ["ticker"],
    async run(context) {
      await repeat(context.times(200, 10_000), 8, async (index) => {
        // Some turns end before the cancel and some outlive it.
        const turn = await context.start("ticker", `${1 + (index % 8)} 1`);
        const [answer, live] = await Promise.all([context.cancel(turn, { wait: true }), context.read(turn)]);
        checkStatus(answer, 200);
        const events = await context.history(turn);
        const completed = checkWholeTurn(events);
        checkGapless(events, 1);
        checkEqual(live, events, "what the reader saw");
        checkEqual(answer.json, completed, "the answer to the cancel");
        const canceled = ofType(events, "CancelRequest").length;
        checkEqual(completed.finish_reason, canceled === 0 ? "success" : "canceled", "the finish_reason");
        check(canceled <= 1, "at most one CancelRequest", events);
      });
    },
  },
  {
    id: "51a",
    title: "many concurrent cancels get equal answers and are logged once",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.startSlow();
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => context.cancel(turn, { wait: true })),
      );
      const events = await context.history(turn);
      checkWholeTurn(events, "canceled");
      checkEqual(ofType(events, "CancelRequest").length, 1, "the number of CancelRequest");
      for (const answer of answers) checkEqual(answer.json, events.at(-1), "each answer");
    },
  },
  {
    id: "51b",
    title: "a cancel races with an answer: there is one end, and nothing after it",
    needs: ["payments"],
    async run(context) {
      await repeat(context.times(40, 1_000), 4, async () => {
        const turn = await context.start("payments", "pay 30 to bob");
        await context.read(turn);
        const [resumed, canceled] = await Promise.all([
          context.resume(turn, { approved: true }, {}, { wait: true }),
          context.cancel(turn, { wait: true }),
        ]);
        checkStatus(resumed, 200, 409);
        checkStatus(canceled, 200);
        const events = await context.history(turn);
        checkWholeTurn(events);
        checkGapless(events, 1);
        const answers = ofType(events, "ResumeWithInput").length;
        checkEqual(answers, resumed.status === 200 ? 1 : 0, "the number of answers in the log");
      });
    },
  },
];
