import type { Case } from "../../case.ts";
import type { Context } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem } from "../../http-client.ts";
import { checkGapless } from "../../wire-event.ts";

/** Configuring agents and runs. */
export const configuration: readonly Case[] = [
  {
    id: "15",
    title: "a configuration with wait=true is answered with a RequestCompleted",
    needs: ["echo"],
    async run(context) {
      const body = { type: "ConfigureRequest", args: { style: "plain" } };
      const completed = bodyOf(await context.process("echo", body, { wait: true }), 200);
      checkConfigured(completed, null);
    },
  },
  {
    id: "15a",
    title: "a body without type is a configuration if it has args",
    needs: ["echo"],
    async run(context) {
      const answer = await context.process("echo", { args: { style: "plain" } }, { wait: true });
      checkConfigured(bodyOf(answer, 200), null);
    },
  },
  {
    id: "15b",
    title: "the configuration of a run is not in its history",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "hello");
      await context.read(turn);
      const before = await context.history(turn);
      const body = { type: "ConfigureRequest", args: { style: "plain" }, run_id: turn.runId };
      checkConfigured(bodyOf(await context.process("echo", body, { wait: true }), 200), turn.runId);
      checkEqual(await context.history(turn), before, "the history");
      const next = await context.start("echo", "again", { run_id: turn.runId });
      checkGapless([...before, next.started], 1);
    },
  },
  {
    id: "15c",
    title: "a configuration without wait is a 202, and has its own route",
    needs: ["echo"],
    async run(context) {
      const body = { type: "ConfigureRequest", args: { style: "plain" } };
      bodyOf(await context.process("echo", body), 202);
      const path = `${context.path("echo")}/configure`;
      const answer = await context.http.ask("POST", path, { body, query: { wait: true } });
      checkConfigured(bodyOf(answer, 200), null);
    },
  },
  {
    id: "15d",
    title: "the configuration of an unknown run is a 404",
    needs: ["echo"],
    async run(context) {
      const body = { type: "ConfigureRequest", args: {}, run_id: `run_${crypto.randomUUID()}` };
      checkProblem(await context.process("echo", body, { wait: true }), 404);
    },
  },
  {
    id: "15e",
    title: "a secret of a configuration is in no event",
    needs: ["echo"],
    async run(context: Context) {
      const turn = await context.start("echo", "hello");
      await context.read(turn);
      const canary = context.newId();
      const body = { type: "ConfigureRequest", args: { api_key: canary }, run_id: turn.runId };
      const answer = await context.process("echo", body, { wait: true });
      checkConfigured(bodyOf(answer, 200), turn.runId);
      await context.read(await context.start("echo", "again", { run_id: turn.runId }));
      const seen = JSON.stringify([answer.text, await context.history(turn)]);
      check(!seen.includes(canary), "no trace of the secret", seen);
    },
  },
];

function checkConfigured(event: Readonly<Record<string, unknown>>, runId: string | null): void {
  checkEqual(event.type, "RequestCompleted", "the type");
  checkEqual(event.finish_reason, "success", "the finish_reason");
  checkEqual(event.id, 0, "the id of an event outside any history");
  checkEqual(event.run_id, runId, "the run_id");
}
