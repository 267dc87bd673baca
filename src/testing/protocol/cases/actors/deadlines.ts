import { isObject } from "../../../../protocol/json.ts";
import type { Case } from "../../case.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem } from "../../http-client.ts";
import { checkWholeTurn, only, spokenText } from "../../wire-event.ts";

/** Waits with a deadline. */
export const deadlines: readonly Case[] = [
  {
    id: "64",
    title: "a wait with a deadline is waiting and names it, and an answer before it continues the turn",
    needs: ["hurried"],
    async run(context) {
      const turn = await context.startEndless("hurried", "600000");
      const wait = only(await context.read(turn), "WaitForInput");
      const until = Date.parse(String(wait["expires_at"])) - Date.parse(String(wait["ts"]));
      check(Math.abs(until - 600_000) < 60_000, "an expires_at ten minutes after the wait", wait);
      const status = await context.status(turn);
      checkEqual(status.status, "waiting", "the status");
      checkEqual(status.request_keys, wait.request_keys, "request_keys in the status");
      check(isObject(status.waiting_for), "waiting_for", status);
      checkEqual(status.waiting_for["expires_at"], wait["expires_at"], "the deadline in the status");
      const end = bodyOf(await context.resume(turn, { answer: "here" }, {}, { wait: "completed" }), 200);
      checkEqual(end.result, "got here", "the result");
    },
  },
  {
    id: "64a",
    title: "at its deadline a wait ends with WaitExpired, and a later answer is a 409",
    needs: ["hurried"],
    async run(context) {
      const turn = await context.start("hurried", "50");
      const stream = await context.http.stream(`${context.path("hurried")}/getevents/${turn.requestId}`, {
        query: { stream: true, follow: true, since: 0 },
      });
      const events = await stream.until(({ type }) => type === "RequestCompleted", "the end");
      stream.close();
      checkWholeTurn(events, "success");
      const wait = only(events, "WaitForInput");
      const expired = only(events, "WaitExpired");
      checkEqual([expired["wait_id"], expired.role], [wait.id, "system"], "the wait that expired");
      checkEqual(spokenText(events) || events.at(-1)?.result, "nothing", "the answer of the agent");
      checkProblem(await context.resume(turn, { answer: "late" }), 409);
    },
  },
  {
    id: "64b",
    title: "a deadline that passes while the server is down ends the wait after its restart",
    needs: ["hurried", "restart"],
    async run(context) {
      const turn = await context.start("hurried", "2000");
      await context.read(turn);
      const after = await context.restart();
      const stream = await after.http.stream(`${after.path("hurried")}/getevents/${turn.requestId}`, {
        query: { stream: true, follow: true, since: 0 },
      });
      const events = await stream.until(({ type }) => type === "RequestCompleted", "the end");
      stream.close();
      checkWholeTurn(events, "success");
      only(events, "WaitExpired");
    },
  },
];
