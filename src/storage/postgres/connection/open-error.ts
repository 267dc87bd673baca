import { AgentError, fieldOf, messageOf } from "../../../errors.ts";
import { DatabaseAway, stateOf } from "./trouble.ts";

/** What mends a role with too few rights. */
export const RIGHTS_HINT =
  "run `troupe migrate` as the owner of the database, then grant its user USAGE on the schema and all rights on its tables, sequences and functions";

/** What mends a schema that is not, or not wholly, that of a log. */
export const SCHEMA_HINT = "use another database, or restore this one from a backup";

/** Says why the database at an address, which has no password, cannot be opened and what mends it. */
export function toOpenError(thrown: unknown, address: string): unknown {
  if (thrown instanceof AgentError && !(thrown instanceof DatabaseAway)) return thrown;
  const cause = fieldOf(thrown, "cause") ?? thrown;
  const reason = messageOf(cause);
  // The library fails before the server does if it has no password.
  const state = stateOf(cause) ?? (/^SASL: .* password/.test(reason) ? "28P01" : undefined);
  if (state === undefined) return toUnreached(cause, address);
  const known = KNOWN[state] ?? KNOWN[state.slice(0, 2)];
  if (known === undefined) {
    return new AgentError("unavailable", `PostgreSQL refuses ${address}: ${reason} (${state})`, {
      hint: "the log of the server says more",
      cause,
    });
  }
  const [code, what, hint] = known;
  return new AgentError(code, `${what}: ${address}: ${reason}`, { hint, cause });
}

/** The server was not reached, or is not one that this program may trust. */
function toUnreached(cause: unknown, address: string): AgentError {
  const code = fieldOf(cause, "code");
  const why = typeof code === "string" ? code : messageOf(cause) || "no answer";
  if (/CERT|SIGNATURE|does not support SSL/.test(why)) {
    const hint =
      typeof code === "string"
        ? (TLS_HINTS[code] ?? "add sslrootcert=FILE with the certificate of its authority to the address")
        : "turn ssl on at the server, or leave sslmode out of the address";
    return new AgentError("invalid_request", `PostgreSQL cannot be reached over TLS: ${address}: ${why}`, {
      hint,
      cause,
    });
  }
  return new AgentError("unavailable", `PostgreSQL cannot be reached: ${address}: ${why}`, {
    hint: "start it, or correct the address",
    cause,
  });
}

const TLS_HINTS: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: "write the host as its certificate names it",
  CERT_HAS_EXPIRED: "renew its certificate",
};

type Known = readonly [code: "forbidden" | "invalid_request" | "unavailable", what: string, hint: string];

const WRONG_SCHEMA: Known = [
  "invalid_request",
  "the schema in the database is not that of a log, or not all of it",
  SCHEMA_HINT,
];

const KNOWN: Readonly<Record<string, Known>> = {
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
  "42501": ["forbidden", "the user lacks rights in the database", RIGHTS_HINT],
  "42P01": WRONG_SCHEMA,
  "42P07": WRONG_SCHEMA,
  "42703": WRONG_SCHEMA,
  "42883": WRONG_SCHEMA,
  "42723": WRONG_SCHEMA,
  "25006": [
    "unavailable",
    "the server takes no writes: it is a standby, or default_transaction_read_only is on",
    "give the address of the primary server",
  ],
  "57P03": ["unavailable", "PostgreSQL is starting or stopping", "try again"],
  "53300": [
    "unavailable",
    "PostgreSQL has no connection left",
    "raise max_connections of the server, or put a pooler in front of it",
  ],
};
