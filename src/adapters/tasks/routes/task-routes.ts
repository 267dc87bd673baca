import type { Context } from "hono";
import type { AppEnv } from "../../../http/messages/app-env.ts";
import { readJson } from "../../../http/messages/body.ts";
import { queryOf } from "../../../http/messages/event-query.ts";
import { reply } from "../../../http/messages/reply.ts";
import type { TaskObject } from "../objects.ts";
import { parseInput } from "../request/body.ts";
import { parsePageRequest, toPagination } from "../request/page.ts";
import type { TasksService } from "./service.ts";
import type { RunReading } from "../../../view/run-reader.ts";
import { segmentsOf } from "../../../view/segments.ts";
import type { RunDetails } from "../../../runtime/lists.ts";
import { inputOf, newestOf } from "../task/task.ts";
import { toArtifact } from "../answer/to-artifact.ts";
import { toStep } from "../answer/to-step.ts";

/** Creates a task; nothing runs yet. */
export async function createTask(c: Context<AppEnv>, { host, tasks }: TasksService): Promise<Response> {
  const body = parseInput(await readJson(c, host.bodyLimitBytes, { optional: true }));
  const taskId = await host.runtime.createRun(tasks.agent, {
    input: body.input ?? null,
    metadata: body.additionalInput,
  });
  return reply(c, JSON.stringify(toTask(await tasks.read(taskId))));
}

export async function getTask(c: Context<AppEnv>, { tasks }: TasksService): Promise<Response> {
  return reply(c, JSON.stringify(toTask(await tasks.read(taskIdOf(c)))));
}

export async function listTasks(c: Context<AppEnv>, { tasks }: TasksService): Promise<Response> {
  const page = parsePageRequest(queryOf(c));
  const { runs, total } = await tasks.list(page.offset, page.size);
  const listed: TaskObject[] = [];
  for (const run of runs) listed.push(toListedTask(run, await tasks.view(run)));
  return reply(c, JSON.stringify({ tasks: listed, pagination: toPagination(page, total) }));
}

export function taskIdOf(c: Context<AppEnv>): string {
  return c.req.param("task_id") ?? "";
}

/** A run as lists show it. */
function toListedTask(run: RunDetails, reading: RunReading | undefined): TaskObject {
  return {
    task_id: run.run_id,
    input: inputOf(run, reading?.view),
    additional_input: run.metadata,
    artifacts: (reading?.view.files ?? []).map(toArtifact),
  };
}

/** A run with its steps. */
function toTask(reading: RunReading): TaskObject {
  const { run, view } = reading;
  const segments = segmentsOf(view);
  const newest = newestOf(view, segments);
  const steps = segments.map((segment) => toStep(reading, segment, newest));
  return { ...toListedTask(run, reading), steps };
}
