import { checkPostgresListening, inspectPostgres } from "../../storage/postgres/inspect.ts";
import type { InspectedPostgres } from "../../storage/postgres/inspect.ts";
import { toConnection } from "../logs/connection.ts";
import { explained } from "../logs/explained.ts";
import { toListen } from "../logs/open-database.ts";
import { toFinding } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** Looks at the database of a log without changing it: its schema, and what can lose acknowledged events. */
export async function checkDatabase(url: string): Promise<Finding[]> {
  const subject = "database";
  try {
    const connection = toConnection(url);
    const inspected = await explained(() => inspectPostgres(connection));
    await explained(() => checkPostgresListening({ ...connection, ...toListen() }));
    return [
      toState(inspected),
      ...inspected.warnings.map((warning): Finding => {
        const [message = "", fix = ""] = warning.split("; ");
        return { subject, ok: false, message, fix };
      }),
    ];
  } catch (thrown) {
    return [toFinding(subject, thrown)];
  }
}

function toState({ address, schema, needed, canMigrate }: InspectedPostgres): Finding {
  const subject = "database";
  if (schema === needed) return { subject, ok: true, message: `${address}: schema ${schema}` };
  const state = schema === 0 ? "no tables yet" : `schema ${schema}, and this version needs ${needed}`;
  if (canMigrate)
    return { subject, ok: true, message: `${address}: ${state}; the next start creates what is missing` };
  return {
    subject,
    ok: false,
    message: `${address}: ${state}; this role may not create tables`,
    fix: "run `troupe migrate` as the owner of the database",
  };
}
