import { TaskNotFoundError } from "@a2a-js/sdk/errors";
import type { Context } from "hono";
import type { AppEnv } from "../../http/messages/app-env.ts";
import { findRequest } from "../../http/messages/native-request.ts";
import { wrongField } from "../../http/messages/wrong-field.ts";
import { principalOf } from "../../http/routes/host.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import { isId } from "../../protocol/ids.ts";
import type { Runtime } from "../../runtime/api.ts";

/** A task of this protocol: a request of an agent. */
export interface TaskPlace {
  readonly agent: string;
  readonly runId: RunId;
  readonly requestId: RequestId;
}

/** Finds a task of an agent by its id. */
export async function findTask(runtime: Runtime, agent: string, id: unknown): Promise<TaskPlace> {
  // The codec of 0.3 passes on what a client sends.
  const address = typeof id === "string" && isId(id) ? await findRequest(runtime, id) : undefined;
  if (address?.agent !== agent) throw new TaskNotFoundError(`there is no task ${JSON.stringify(id ?? null)}`);
  return { agent, runId: address.runId, requestId: address.requestId };
}

/** The wire in the keys of runs. */
export const WIRE = "a2a";

/** The context of a run: the name that its client gave it, else the id of the run. */
export async function contextOf(runtime: Runtime, runId: RunId): Promise<string> {
  const { key } = await runtime.run(runId);
  const prefix = `${WIRE}:`;
  return key?.startsWith(prefix) === true ? key.slice(prefix.length) : runId;
}

/** Refuses a tenant that is not the owner of the caller, whose tasks no other caller gets. */
export function checkTenant(c: Context<AppEnv>, tenant: unknown): void {
  if (tenant === undefined || tenant === "" || tenant === principalOf(c).owner) return;
  throw wrongField("tenant", "must be the owner that the token belongs to, or be left out");
}
