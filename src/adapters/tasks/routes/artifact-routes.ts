import type { Context } from "hono";
import { AgentError } from "../../../errors.ts";
import type { AppEnv } from "../../../http/messages/app-env.ts";
import { queryOf } from "../../../http/messages/event-query.ts";
import { replyFile } from "../../../http/messages/file-reply.ts";
import { readForm } from "../../../http/messages/form.ts";
import { reply } from "../../../http/messages/reply.ts";
import { toArtifact } from "../answer/to-artifact.ts";
import { joinName, splitName } from "../request/file-name.ts";
import { itemsOn, parsePageRequest, toPagination } from "../request/page.ts";
import { uploadsOf } from "../task/task.ts";
import type { TasksService } from "./service.ts";
import { taskIdOf } from "./task-routes.ts";

/** The most files that a request can have. */
const UPLOADS_LIMIT = 100;

export async function listArtifacts(c: Context<AppEnv>, { tasks }: TasksService): Promise<Response> {
  const page = parsePageRequest(queryOf(c));
  const { files } = (await tasks.read(taskIdOf(c))).view;
  const artifacts = itemsOn(page, files).map(toArtifact);
  return reply(c, JSON.stringify({ artifacts, pagination: toPagination(page, files.length) }));
}

/** Stores a file in a task. Its bytes are never held as a whole. */
export async function uploadArtifact(c: Context<AppEnv>, { host, tasks }: TasksService): Promise<Response> {
  const { run, view } = await tasks.read(taskIdOf(c));
  if (uploadsOf(view).length >= UPLOADS_LIMIT) {
    throw new AgentError("unprocessable", `task ${run.run_id} has ${UPLOADS_LIMIT} files for its next turn`, {
      hint: "start it before you upload more",
    });
  }
  const limitBytes = host.fileLimitBytes;
  const form = await readForm(c, { file: "file", limitBytes });
  let stored = "";
  const { artifactId } = await host.runtime.upload({
    // Clients also send the folder after the file.
    name: async () => (stored = joinName(form.fileName, (await form.fields()).get("relative_path"))),
    mimeType: form.mimeType,
    body: form.body,
    limitBytes,
    runId: run.run_id,
  });
  return reply(c, JSON.stringify(toArtifact({ artifactId, name: stored, isGenerated: false })));
}

export async function downloadArtifact(c: Context<AppEnv>, { host, tasks }: TasksService): Promise<Response> {
  const { run, view } = await tasks.read(taskIdOf(c));
  const artifactId = c.req.param("artifact_id") ?? "";
  const file = view.files.find((known) => known.artifactId === artifactId);
  if (file === undefined)
    throw new AgentError("not_found", `task ${run.run_id} has no artifact ${artifactId.slice(0, 128)}`);
  return replyFile(c, {
    ...(await host.runtime.artifact(file.artifactId)),
    name: splitName(file.name).fileName,
    type: "application/octet-stream",
    stallMs: host.streams.times.stallMs,
    report: host.report,
  });
}
