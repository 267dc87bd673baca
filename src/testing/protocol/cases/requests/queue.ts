import type { Case } from "../../case.ts";
import { SLOW } from "../../context.ts";
import type { Context, StartedTurn } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkStatus, checkProblem } from "../../http-client.ts";
import { checkGapless, checkWholeTurn, only, spokenText } from "../../wire-event.ts";

/** Several requests to one run, and parallel runs. */
export const queue: readonly Case[] = [
  {
    id: "52",
    title: "two requests to one run run one after the other",
    needs: ["ticker"],
    async run(context) {
      const first = await context.start("ticker", "10 10");
      const second = await context.enqueue(first, "3 1");
      checkEqual(spokenText(await context.read(second)), "1\n2\n3\n", "the text of the second");
      const events = await context.history(first);
      checkGapless(events, 1);
      const order = events.map(({ request_id }) => request_id);
      const wanted = [...Array<string>(12).fill(first.requestId), ...Array<string>(5).fill(second.requestId)];
      checkEqual(order, wanted, "the order of the events' requests");
    },
  },
  {
    id: "52a",
    title: "on_busy=reject is a 409",
    needs: ["ticker"],
    async run(context) {
      const busy = await context.startSlow();
      const body = { type: "ChatRequest", input: "3 1", run_id: busy.runId, on_busy: "reject" };
      checkProblem(await context.process("ticker", body, { wait: true }), 409);
      await context.cancel(busy, { wait: true });
      checkWholeTurn(await context.history(busy), "canceled");
    },
  },
  {
    id: "52b",
    title: "on_busy=interrupt cancels the running turn, then runs",
    needs: ["ticker"],
    async run(context) {
      const busy = await context.startSlow();
      const next = await context.start("ticker", "3 1", { run_id: busy.runId, on_busy: "interrupt" });
      checkEqual(spokenText(await context.read(next)), "1\n2\n3\n", "the text of the interrupter");
      checkEqual(
        (await context.status(busy)).finish_reason,
        "canceled",
        "the finish_reason of the interrupted",
      );
      checkGapless(await context.history(busy), 1);
    },
  },
  {
    id: "52c",
    title: "a run queues eight requests; the next is a 429 with Retry-After",
    needs: ["ticker"],
    async run(context) {
      const busy = await context.startSlow();
      const queued: StartedTurn[] = [];
      for (let index = 0; index < 8; index += 1) queued.push(await context.enqueue(busy, SLOW));
      const body = { type: "ChatRequest", input: "3 1", run_id: busy.runId };
      const refused = await context.process("ticker", body);
      checkProblem(refused, 429);
      check(Number(refused.headers.get("retry-after")) > 0, "a Retry-After", [...refused.headers]);
      for (const turn of queued) bodyOf(await context.cancel(turn, { wait: true }), 200);
      bodyOf(await context.cancel(busy, { wait: true }), 200);
    },
  },
  {
    id: "52d",
    title: "the start of a queued request says when it was accepted, and one that starts at once does not",
    needs: ["ticker"],
    async run(context) {
      const busy = await context.startSlow();
      const queued = await context.enqueue(busy, "3 1");
      const { created_at: acceptedAt } = await context.status(queued);
      await context.cancel(busy, { wait: true });
      const [start] = await context.read(queued);
      checkEqual(start?.["accepted_at"], acceptedAt, "accepted_at of the queued request");
      check(typeof acceptedAt === "string", "a created_at in the status", acceptedAt);
      checkEqual(busy.started["accepted_at"], undefined, "accepted_at of the one that started at once");
    },
  },
  {
    id: "53",
    title: "parallel runs never mix",
    needs: ["notebook"],
    async run(context) {
      const count = context.times(10, 50);
      await Promise.all(Array.from({ length: count }, () => keepNotes(context)));
    },
  },
  {
    id: "54",
    title: "running turns, streams and long polls do not delay others",
    needs: ["ticker", "echo"],
    async run(context) {
      const busy = await context.startSlow();
      const stream = await context.stream(busy);
      await stream.until(({ type }) => type === "TextOutput", "the first number");
      let polls = 0;
      const poll = async (): Promise<void> => {
        await context.poll(busy, { since: 2, types: "TextOutput", timeout: 60_000 });
        polls += 1;
      };
      const long = Promise.all(Array.from({ length: 20 }, poll));
      // They can fail before they are awaited.
      long.catch(() => {});
      const answer = await context.http.ask("GET", `${context.path("echo")}/describe`);
      checkStatus(answer, 200);
      checkWholeTurn(await context.read(await context.start("echo", "hello")), "success");
      checkEqual(polls, 0, "the number of long polls that had to end first");
      checkEqual((await context.status(busy)).status, "running", "the status of the slow turn");
      await context.cancel(busy, { wait: true });
      await long;
      only(await stream.rest(), "RequestCompleted");
    },
  },
];

/** Sends notes to its own run and checks that the run contains only them. */
async function keepNotes(context: Context): Promise<void> {
  const notes = Array.from({ length: 3 }, () => crypto.randomUUID());
  let turn: StartedTurn | undefined;
  for (const [index, note] of notes.entries()) {
    const run = turn === undefined ? {} : { run_id: turn.runId };
    turn = await context.start("notebook", note, run);
    const events = await context.read(turn);
    for (const { run_id, request_id } of events) {
      checkEqual([run_id, request_id], [turn.runId, turn.requestId], "run and request of each event");
    }
    const found = spokenText(events).match(UUID) ?? [];
    checkEqual(found, notes.slice(0, index + 1), "the notes of the run");
  }
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
