import { AgentError } from "../../../errors.ts";
import type { AgentScopeObject, ResponseObject } from "../objects.ts";
import { toJava } from "./java.ts";

/** A way to write the objects of the protocol. Requests are read in both. */
export type Dialect = "python" | "java";

/** Writes an object as one line of JSON. */
export function encodeObject(object: AgentScopeObject, dialect: Dialect): string {
  if (dialect === "java") return JSON.stringify(toJava(object));
  return JSON.stringify(object.object === "response" ? inSeconds(object) : object);
}

/** The Python edition has whole seconds. */
function inSeconds(response: ResponseObject): ResponseObject {
  const { created_at, completed_at } = response;
  return {
    ...response,
    created_at: created_at && Math.floor(created_at),
    completed_at: completed_at && Math.floor(completed_at),
  };
}

/** The dialect of an answer: `?dialect=`, else `dialect=` in the Accept header, else the one of the server. */
export function pickDialect(query: string | undefined, accept: string | undefined, own: Dialect): Dialect {
  if (query !== undefined) {
    const asked = query.toLowerCase();
    if (isDialect(asked)) return asked;
    const message = "must be python or java";
    throw new AgentError("unprocessable", `dialect ${message}`, { issues: [{ path: "dialect", message }] });
  }
  const [, accepted = ""] = /;\s*dialect="?(\w+)"?/i.exec(accept ?? "") ?? [];
  const asked = accepted.toLowerCase();
  return isDialect(asked) ? asked : own;
}

function isDialect(name: string): name is Dialect {
  return name === "python" || name === "java";
}
