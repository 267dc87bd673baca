import { AgentError, fieldOf } from "../../../errors.ts";
import type { Database } from "./database.ts";
import { stateOf } from "./trouble.ts";

/** Says why a database cannot be opened and what mends it, without the password. */
export function toOpenError(thrown: unknown, database: Database): unknown {
  if (thrown instanceof AgentError) return thrown;
  const cause = fieldOf(thrown, "cause") ?? thrown;
  const state = stateOf(cause);
  const { address } = database;
  if (state === undefined) {
    const code = fieldOf(cause, "code");
    const why = typeof code === "string" ? code : ((cause as Error | undefined)?.message ?? "no answer");
    return new AgentError("unavailable", `PostgreSQL cannot be reached: ${address}: ${why}`, {
      hint: "start it, or correct the address",
      cause,
    });
  }
  const known = KNOWN[state] ?? KNOWN[state.slice(0, 2)];
  if (known === undefined) {
    const message = `PostgreSQL refuses ${address}: ${(cause as Error).message} (${state})`;
    return new AgentError("unavailable", message, { cause });
  }
  const [code, what, hint] = known;
  return new AgentError(code, `${what}: ${address}`, { hint, cause });
}

const KNOWN: Readonly<
  Record<string, readonly ["forbidden" | "invalid_request" | "unavailable", string, string]>
> = {
  "28": [
    "forbidden",
    "PostgreSQL refuses the user or the password",
    "set PGPASSWORD, or correct the user; pg_hba.conf of the server says who may connect",
  ],
  "3D000": [
    "invalid_request",
    "there is no such database",
    "create it with createdb, or correct the address",
  ],
  "42501": [
    "forbidden",
    "the user lacks rights in the database",
    "run `troupe migrate` as the owner of the database, then grant its user USAGE on the schema and all rights on its tables, sequences and functions",
  ],
  "25006": [
    "unavailable",
    "the server is a standby, which takes no writes",
    "give the address of the primary server",
  ],
  "57P03": ["unavailable", "PostgreSQL is starting or stopping", "try again"],
  "53300": [
    "unavailable",
    "PostgreSQL has no connection left",
    "raise max_connections of the server, or put a pooler in front of it",
  ],
};
