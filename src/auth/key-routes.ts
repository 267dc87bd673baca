import { AgentError } from "../errors.ts";
import { toBy } from "../ports/principal.ts";
import type { Visit } from "../ports/principal.ts";
import { isObject } from "../protocol/json.ts";
import type { ApiKey, NewApiKey } from "./api-keys.ts";
import { replyJson, readBody } from "./web.ts";

/** What the routes work with. */
interface Keys {
  create(key: NewApiKey, note: KeyNote): Promise<{ readonly key: string; readonly info: ApiKey }>;
  list(): Promise<readonly ApiKey[]>;
  revoke(id: string, note: KeyNote): Promise<ApiKey>;
}

/** Called with a key that is about to be made or revoked. */
export type KeyNote = (key: ApiKey) => Promise<void> | undefined;

/** Answers `GET /keys`, `POST /keys` and `DELETE /keys/{id}` of an admin; `undefined` for other paths. */
export async function answerKeys(
  keys: Keys,
  request: Request,
  { path, principal, note }: Visit,
): Promise<Response | undefined> {
  const [, id, ...more] = path.split("/").slice(1);
  if (!/^\/keys(?:\/|$)/.test(path) || more.length > 0) return undefined;
  if (principal === undefined) return undefined;
  if (!principal.roles.includes("admin")) {
    throw new AgentError("forbidden", "only an admin may see and change API keys");
  }
  const { method } = request;
  if (id === undefined && (method === "GET" || method === "HEAD")) {
    return replyJson((await keys.list()).map(toWire));
  }
  if (id === undefined && method === "POST") {
    const asked = toNewKey(await readBody(request));
    const { key, info } = await keys.create(asked, (made) =>
      note?.({
        action: "create_key",
        by: toBy(principal),
        owner: made.owner,
        detail: `${made.id} ${made.name}`,
      }),
    );
    return replyJson({ ...toWire(info), key }, 201);
  }
  if (id !== undefined && method === "DELETE") {
    const revoked = await keys.revoke(id, (known) =>
      note?.({
        action: "revoke_key",
        by: toBy(principal),
        owner: known.owner,
        detail: `${id} ${known.name}`,
      }),
    );
    return replyJson(toWire(revoked));
  }
  const takes = id === undefined ? "GET, HEAD, POST" : "DELETE";
  throw new AgentError("method_not_allowed", `${path} takes ${takes}, not ${method}`);
}

function toNewKey(body: unknown): NewApiKey {
  if (!isObject(body)) throw new AgentError("invalid_request", "a new key is a JSON object");
  const { name, owner, roles, expires_at: expires, ...rest } = body;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new AgentError(
      "invalid_request",
      `a new key has no field ${JSON.stringify(unknown.slice(0, 64))}`,
      {
        hint: "the fields are name, owner, roles and expires_at",
      },
    );
  }
  const expiresAt = expires === undefined ? undefined : toTime(expires);
  // What they are is checked where keys are made.
  return {
    name: name as string,
    ...(owner !== undefined && { owner: owner as string }),
    ...(roles !== undefined && { roles: roles as string[] }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

function toTime(text: unknown): number {
  const time = typeof text === "string" && /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new AgentError("invalid_request", "expires_at is not a time such as 2030-01-31T12:00:00Z");
}

function toWire({ createdAt, expiresAt, revokedAt, lastUsedAt, ...key }: ApiKey): object {
  return {
    ...key,
    created_at: timeOf(createdAt),
    ...(expiresAt !== undefined && { expires_at: timeOf(expiresAt) }),
    ...(revokedAt !== undefined && { revoked_at: timeOf(revokedAt) }),
    ...(lastUsedAt !== undefined && { last_used_at: timeOf(lastUsedAt) }),
  };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
