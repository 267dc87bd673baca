import type { Context } from "hono";
import { AgentError } from "../../../errors.ts";
import type { AppEnv } from "../../../http/messages/app-env.ts";
import { readJson } from "../../../http/messages/body.ts";
import { queryOf } from "../../../http/messages/event-query.ts";
import { reply } from "../../../http/messages/reply.ts";
import { segmentsOf } from "../../../view/segments.ts";
import { toStep } from "../answer/to-step.ts";
import { parseInput } from "../request/body.ts";
import { itemsOn, parsePageRequest, toPagination } from "../request/page.ts";
import { newestOf } from "../task/task.ts";
import { act } from "../steps/execute.ts";
import { awaitNewest, awaitReceipt } from "../steps/step-result.ts";
import type { TasksService } from "./service.ts";
import { taskIdOf } from "./task-routes.ts";

export async function listSteps(c: Context<AppEnv>, { tasks }: TasksService): Promise<Response> {
  const page = parsePageRequest(queryOf(c));
  const reading = await tasks.read(taskIdOf(c));
  const segments = segmentsOf(reading.view);
  const newest = newestOf(reading.view, segments);
  const steps = itemsOn(page, segments).map((segment) => toStep(reading, segment, newest));
  return reply(c, JSON.stringify({ steps, pagination: toPagination(page, segments.length) }));
}

export async function getStep(c: Context<AppEnv>, { tasks }: TasksService): Promise<Response> {
  const reading = await tasks.read(taskIdOf(c));
  const stepId = c.req.param("step_id") ?? "";
  const segment = segmentsOf(reading.view).find(({ id }) => String(id) === stepId);
  if (segment !== undefined) return reply(c, JSON.stringify(toStep(reading, segment)));
  throw new AgentError("not_found", `task ${reading.run.run_id} has no step ${stepId.slice(0, 128)}`);
}

/** Executes a step and answers when it has ended or asks something. A caller who disconnects changes nothing. */
export async function postStep(
  c: Context<AppEnv>,
  { host, tasks, acts, options }: TasksService,
): Promise<Response> {
  const { runtime, waits, bodyLimitBytes } = host;
  const { again = false } = options;
  const taskId = taskIdOf(c);
  const caller = acts.begin(taskId);
  try {
    await tasks.run(taskId);
    const body = parseInput(await readJson(c, bodyLimitBytes, { optional: true }));
    const done = await caller.perform(() => act(runtime, tasks, { taskId, body, again }));
    const text = await waits.until(c, async (signal) => {
      const waiting = { runtime, tasks, signal };
      const { reading, segment } = await (done === undefined
        ? awaitNewest(waiting, taskId)
        : awaitReceipt(waiting, done));
      return JSON.stringify(toStep(reading, segment));
    });
    return reply(c, text);
  } finally {
    caller.end();
  }
}
