import { inspectPostgres } from "../../cluster/postgres/inspect.ts";
import { isInstance } from "../../errors.ts";
import { Exit } from "../exit.ts";
import { toConnection } from "../logs/connection.ts";
import { explained } from "../logs/explained.ts";
import type { Finding } from "./finding.ts";

/** Looks at the database of a log without changing it: its schema, and what can lose acknowledged events. */
export async function checkDatabase(url: string): Promise<Finding[]> {
  const subject = "database";
  try {
    const { address, schema, needed, warnings } = await explained(() => inspectPostgres(toConnection(url)));
    const state =
      schema === needed ? `schema ${schema}` : `schema ${schema}; the next start brings it to ${needed}`;
    return [
      { subject, ok: true, message: `${address}: ${state}` },
      ...warnings.map((warning): Finding => {
        const [message = "", fix = ""] = warning.split("; ");
        return { subject, ok: false, message, fix };
      }),
    ];
  } catch (thrown) {
    if (!isInstance(thrown, Exit)) throw thrown;
    return [
      { subject, ok: false, message: thrown.message, ...(thrown.hint !== undefined && { fix: thrown.hint }) },
    ];
  }
}
