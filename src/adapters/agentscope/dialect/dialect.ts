import { AgentError } from "../../../errors.ts";
import type { AgentScopeObject } from "../objects.ts";
import { toJava } from "./java.ts";

/** A way to write the objects of the protocol. Requests are read in both. */
export type Dialect = "python" | "java";

/** Writes an object as one line of JSON. */
export function encodeObject(object: AgentScopeObject, dialect: Dialect): string {
  return JSON.stringify(dialect === "java" ? toJava(object) : object);
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
