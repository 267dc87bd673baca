import { perHost } from "../../http/routes/host.ts";
import type { Adapter } from "../../http/adapter.ts";
import type { Act } from "./steps/execute.ts";
import { SharedActs } from "./steps/shared-acts.ts";
import { TasksReader } from "./task/tasks-reader.ts";
import { downloadArtifact, listArtifacts, uploadArtifact } from "./routes/artifact-routes.ts";
import type { TasksService, TasksOptions } from "./routes/service.ts";
import { getStep, listSteps, postStep } from "./routes/step-routes.ts";
import { createTask, getTask, listTasks } from "./routes/task-routes.ts";
import type { AgentError, ErrorCode } from "../../errors.ts";
import type { Refusal } from "../../http/messages/refusal.ts";

/** Serves agents over the classic Agent Protocol v1: tasks, steps and artifacts. */
export function tasks(options: TasksOptions = {}): Adapter {
  const acts = new SharedActs<Act>();
  return {
    name: "tasks",
    roots: ["ap"],
    owns: (path) => OWN.test(path),
    toRefusal,
    addRoutes(app, shared, { agent, path }) {
      const serviceOf = perHost(shared, (host): TasksService => ({
        host,
        tasks: new TasksReader(host.runtime, agent),
        acts,
        options,
      }));
      const base = `${path}/ap/v1/agent/tasks`;
      const task = `${base}/:task_id`;
      app.post(base, (c) => createTask(c, serviceOf(c)));
      app.get(base, (c) => listTasks(c, serviceOf(c)));
      app.get(task, (c) => getTask(c, serviceOf(c)));
      app.get(`${task}/steps`, (c) => listSteps(c, serviceOf(c)));
      app.post(`${task}/steps`, (c) => postStep(c, serviceOf(c)));
      app.get(`${task}/steps/:step_id`, (c) => getStep(c, serviceOf(c)));
      app.get(`${task}/artifacts`, (c) => listArtifacts(c, serviceOf(c)));
      app.post(`${task}/artifacts`, (c) => uploadArtifact(c, serviceOf(c)));
      app.get(`${task}/artifacts/:artifact_id`, (c) => downloadArtifact(c, serviceOf(c)));
    },
  };
}

/** The paths at the root and below an agent, known or not. */
const OWN = /^\/(?:[^/]+\/)?ap\/v1(?:\/.*)?$/;

/** An error in the words of the protocol. */
function toRefusal({ code, message, details }: AgentError): Refusal {
  const status = STATUSES[code];
  const { hint, issues } = details;
  const text = hint === undefined ? message : `${message}; ${hint}`;
  return {
    body: JSON.stringify({ message: text, ...(issues !== undefined && { errors: issues }) }),
    ...(status !== undefined && { status }),
  };
}

/** The statuses that differ from the native ones. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  invalid_request: 422,
  unsupported_media_type: 422,
  gone: 404,
};
