import type { Spending } from "../../ports/spending.ts";
import { encodeSpent } from "../sql/changes.ts";
import { agentsOf } from "../shared/owned-keys.ts";
import type { Database } from "./connection/database.ts";

/** What was spent, in its table. */
export function spendingIn(database: Database, answers: Pick<Spending, "on" | "list">): Spending {
  return {
    ...answers,
    async put(entries) {
      if (entries.length > 0) await database.ask(PUT, [JSON.stringify(entries.map(encodeSpent))]);
    },
    async remove(owner) {
      await database.ask(REMOVE, [owner, ...agentsOf(owner)]);
    },
  };
}

const PUT = `
  INSERT INTO troupe.spent (owner, day, tokens, cost, raised_tokens, raised_cost)
    SELECT value->>0, (value->>1)::integer, (value->>2)::bigint, (value->>3)::float8, (value->>4)::bigint, (value->>5)::float8
      FROM jsonb_array_elements($1::jsonb)
    ON CONFLICT (owner, day) DO UPDATE SET tokens = excluded.tokens, cost = excluded.cost,
      raised_tokens = excluded.raised_tokens, raised_cost = excluded.raised_cost`;

const REMOVE = "DELETE FROM troupe.spent WHERE owner = $1 OR (owner > $2 AND owner < $3)";
