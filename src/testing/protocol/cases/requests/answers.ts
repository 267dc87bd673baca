import type { Case } from "../../case.ts";
import type { Context, StartedTurn } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkStatus, checkProblem } from "../../http-client.ts";
import type { HttpAnswer } from "../../http-client.ts";
import { checkGapless, ofType } from "../../wire-event.ts";

/** Accepted and refused answers. */
export const answers: readonly Case[] = [
  {
    id: "37",
    title: "an answer without the key is a 422, and the request still waits",
    needs: ["payments"],
    async run(context) {
      const turn = await ask(context);
      for (const keys of [{}, { other: true }, { approved: "perhaps" }, { approved: null }]) {
        const problem = checkProblem(await context.resume(turn, keys, {}, { wait: true }), 422);
        check(JSON.stringify(problem).includes("approved"), "a problem that names the key", problem);
      }
      checkEqual((await context.status(turn)).status, "waiting", "the status");
      const answer = await context.resume(turn, { approved: true }, {}, { wait: "completed" });
      checkEqual(bodyOf(answer, 200).finish_reason, "success", "the finish_reason");
      checkEqual(ofType(await context.history(turn), "ResumeWithInput").length, 1, "the number of answers");
    },
  },
  {
    id: "37a",
    title: "an answer that is not an object is a 400",
    needs: ["payments"],
    async run(context) {
      const turn = await ask(context);
      for (const keys of [undefined, null, "yes", [true]]) {
        checkProblem(await context.resume(turn, keys), 400);
      }
      checkEqual((await context.status(turn)).status, "waiting", "the status");
    },
  },
  {
    id: "38",
    title: "the same answer again gets the same reply; a different one is a 409",
    needs: ["payments"],
    async run(context) {
      const turn = await ask(context);
      const first = await context.resume(turn, { approved: true }, {}, { wait: true });
      const resumed = bodyOf(first, 200);
      checkEqual(
        bodyOf(await context.resume(turn, { approved: true }, {}, { wait: true }), 200),
        resumed,
        "the repeat",
      );
      checkProblem(await context.resume(turn, { approved: false }, {}, { wait: true }), 409);
      await context.read(turn);
      checkEqual(
        bodyOf(await context.resume(turn, { approved: true }, {}, { wait: true }), 200),
        resumed,
        "a late repeat",
      );
      checkProblem(await context.resume(turn, { approved: false }, {}, { wait: true }), 409);
      const events = await context.history(turn);
      checkGapless(events, 1);
      checkEqual(ofType(events, "ResumeWithInput").length, 1, "the number of answers");
      checkEqual(ofType(events, "RequestCompleted").length, 1, "the number of ends");
    },
  },
  {
    id: "38a",
    title: "of several concurrent answers exactly one wins",
    needs: ["payments"],
    async run(context) {
      for (let round = 0; round < context.times(5, 100); round += 1) {
        const turn = await ask(context);
        const answers = await Promise.all(
          [true, false, true, false].map((approved) =>
            context.resume(turn, { approved }, {}, { wait: true }),
          ),
        );
        const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
        checkEqual(statuses, [200, 200, 409, 409], "the statuses");
        const events = await context.history(turn);
        checkEqual(ofType(events, "ResumeWithInput").length, 1, "the number of answers");
      }
    },
  },
  {
    id: "38b",
    title: "a repeated answer is marked as replayed, also when it is identified by resume_id",
    needs: ["payments"],
    async run(context) {
      const turn = await ask(context);
      const resume_id = context.newId();
      const send = (approved: boolean): Promise<HttpAnswer> =>
        context.resume(turn, { approved }, { resume_id }, { wait: true });
      const first = await send(true);
      checkEqual(first.headers.get("idempotent-replayed"), null, "Idempotent-Replayed of the first answer");
      const again = await send(true);
      checkEqual(bodyOf(again, 200), bodyOf(first, 200), "the repeat");
      checkEqual(again.headers.get("idempotent-replayed"), "true", "Idempotent-Replayed of the repeat");
      checkProblem(await send(false), 409);
    },
  },
  {
    id: "39",
    title: "an answer to a request that does not wait is a 409, to an unknown one a 404",
    needs: ["echo", "ticker"],
    async run(context) {
      const finished = await context.start("echo", "hello");
      const events = await context.read(finished);
      checkProblem(await context.resume(finished, { approved: true }, {}, { wait: true }), 409);
      checkEqual(await context.history(finished), events, "the history of the finished request");
      const running = await context.startSlow();
      checkProblem(await context.resume(running, { approved: true }, {}, { wait: true }), 409);
      const unknown = { ...finished, requestId: context.newId() };
      checkProblem(await context.resume(unknown, { approved: true }, {}, { wait: true }), 404);
    },
  },
  {
    id: "43a",
    title: "when several waits are open, an answer must name one",
    needs: ["interviewer"],
    async run(context) {
      const turn = await context.startEndless("interviewer", "ask me");
      const waits = ofType(await context.read(turn), "WaitForInput");
      checkEqual(waits.length, 2, "the number of waits");
      const keys = Object.assign({}, ...waits.map(({ request_keys }) => request_keys)) as object;
      checkStatus(await context.resume(turn, keys, {}, { wait: true }), 400, 409, 422);
      const wrong = await context.resume(turn, keys, { wait_id: 1 }, { wait: true });
      checkStatus(wrong, 404, 409);
      checkEqual((await context.status(turn)).status, "waiting", "the status");
    },
  },
  {
    id: "43b",
    title: "a chat to a waiting run is a 409 with the open questions",
    needs: ["payments"],
    async run(context) {
      const turn = await ask(context);
      const body = { type: "ChatRequest", input: "hello", run_id: turn.runId };
      const problem = checkProblem(await context.process("payments", body, { wait: true }), 409);
      check(JSON.stringify(problem).includes("approved"), "the asked keys in the problem", problem);
    },
  },
];

async function ask(context: Context): Promise<StartedTurn> {
  const turn = await context.startEndless("payments", "pay 30 to bob");
  await context.read(turn);
  return turn;
}
