import type { Case } from "../../case.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem } from "../../http-client.ts";
import { only, spokenText, toEvent } from "../../wire-event.ts";

/** Messages to runs. */
export const messages: readonly Case[] = [
  {
    id: "57",
    title: "messages reach the running turn in order, and each is acknowledged by its event",
    needs: ["listener"],
    async run(context) {
      const turn = await context.startEndless("listener", "listen");
      for (const body of ["one", "two", "three", "end"]) {
        const request = { type: "Message", name: "note", body, run_id: turn.runId };
        const answer = await context.process("listener", request, { wait: true });
        const event = toEvent(bodyOf(answer, 200), answer.asked);
        checkEqual(event.type, "MessageReceived", "the type");
        checkEqual(event.role, "user", "the role");
        checkEqual(event.request_id, turn.requestId, "the request of the open turn");
        checkEqual([event.name, event.body], ["note", body], "the name and the body");
      }
      const events = await context.read(turn);
      check(/one\s*two\s*three/.test(spokenText(events)), "the notes in their order", spokenText(events));
      checkEqual(only(events, "RequestCompleted").finish_reason, "success", "the finish_reason");
    },
  },
  {
    id: "57a",
    title: "a message with a new key creates the run, starts no turn, and is read by the first turn",
    needs: ["listener"],
    async run(context) {
      const key = context.newId();
      const note = (body: string): object => ({ type: "Message", name: "note", body, key });
      const accepted = bodyOf(await context.process("listener", note("early")), 202);
      const { request_id: messageId, run_id: runId } = accepted;
      const status = await context.status({
        role: "listener",
        requestId: String(messageId),
        runId: String(runId),
      } as never);
      checkEqual(status.status, "completed", "the status of a message");
      const turn = await context.startEndless("listener", "listen", { key });
      checkEqual(turn.runId, runId, "the run of the key");
      bodyOf(await context.process("listener", note("end")), 202);
      const events = await context.read(turn);
      check(spokenText(events).includes("early"), "the note from before the turn", spokenText(events));
      const [first] = await context.history(turn);
      checkEqual([first?.type, first?.request_id], ["MessageReceived", null], "the first event of the run");
      checkEqual(first?.message_id, messageId, "the message_id");
    },
  },
  {
    id: "57b",
    title: "a repeated message is taken once",
    needs: ["listener"],
    async run(context) {
      const key = context.newId();
      const body = { type: "Message", name: "note", body: "once", key, request_id: context.newId() };
      const answers = await Promise.all(
        Array.from({ length: context.times(10, 50) }, () =>
          context.process("listener", body, { wait: true }),
        ),
      );
      for (const answer of answers) checkEqual(answer.text, answers[0]?.text, "every answer");
      const other = await context.process("listener", { ...body, body: "twice" });
      checkProblem(other, 409);
      const turn = await context.startEndless("listener", "listen", { key });
      bodyOf(await context.process("listener", { type: "Message", name: "note", body: "end", key }), 202);
      checkEqual(spokenText(await context.read(turn)).trim(), "once", "the notes");
    },
  },
  {
    id: "57c",
    title: "an unknown name, a body that does not fit and a message without a run are refused",
    needs: ["listener"],
    async run(context) {
      const key = context.newId();
      const named = { type: "Message", name: "no_such_name", body: "x", key };
      checkProblem(await context.process("listener", named), 422);
      const wrong = { type: "Message", name: "note", body: { not: "a string" }, key };
      checkProblem(await context.process("listener", wrong), 422);
      const lost = { type: "Message", name: "note", body: "x" };
      checkProblem(await context.process("listener", lost), 400);
      const unknown = { type: "Message", name: "note", body: "x", run_id: "run_unknown" };
      checkProblem(await context.process("listener", unknown), 404);
      const listed = await context.http.ask("GET", `${context.path("listener")}/runs`, { query: { key } });
      checkEqual(listed.json, [], "the runs with the key");
    },
  },
];
