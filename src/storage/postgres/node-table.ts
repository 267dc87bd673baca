import type { NodeDirectory, NodeEntry, NodePresence, NodeRow } from "../../ports/node-directory.ts";
import type { Database } from "./connection/database.ts";

/** The table of nodes, with the times of the server's clock. */
export function postgresNodes(database: Database): NodeDirectory {
  return {
    async heartbeat({ node, ...facts }, forgotten = []) {
      const rows = await database.heartbeat<NodeColumns & { readonly beat: string }>(BEAT, [
        node,
        JSON.stringify(facts),
        JSON.stringify(forgotten.map((row) => [row.node, row.heartbeat])),
      ]);
      return rows.map(({ beat, ...row }): NodeRow => ({ ...toEntry(row), heartbeat: beat }));
    },
    async renew({ node, ...facts }) {
      await database.heartbeat(RENEW, [node, JSON.stringify(facts)]);
    },
    owedMs: () => database.owedMs,
  };
}

/** A node with the runs that it owns. */
export interface ListedNode extends NodeEntry {
  /** The number of runs that it has claimed. */
  readonly runs: number;
  /** The number of those whose turns run, wait or sleep. */
  readonly open: number;
}

/** Lists the nodes of the last hour, those with the newest heartbeat first. */
export async function listNodes(database: Database): Promise<readonly ListedNode[]> {
  const rows = await database.once<NodeColumns & { readonly runs: number; readonly open: number }>(LIST);
  return rows.map(({ runs, open, ...row }) => ({ ...toEntry(row), runs, open }));
}

/** How many runs of a database each node owns. */
export function countOwned(
  database: Database,
): Promise<readonly { readonly owner: string; readonly runs: number; readonly open: number }[]> {
  return database.once(OWNED);
}

const OWNED = `SELECT owner, count(*)::int AS runs, count(started)::int AS open FROM troupe.run
  WHERE owner IS NOT NULL GROUP BY owner`;

const LIST = `
  SELECT node.id, node.facts, node.age, coalesce(owned.runs, 0) AS runs, coalesce(owned.open, 0) AS open
    FROM (
      SELECT id, facts, greatest(0, extract(epoch FROM clock_timestamp() - beat) * 1000)::float8 AS age
        FROM troupe.node WHERE beat >= now() - interval '1 hour'
    ) AS node
    LEFT JOIN (${OWNED}) AS owned ON owned.owner = node.id
    ORDER BY node.age, node.id`;

const RENEW = `
  INSERT INTO troupe.node (id, facts, beat) VALUES ($1, $2, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET facts = excluded.facts, beat = excluded.beat`;

const BEAT = `
  WITH own AS (${RENEW}
      RETURNING id, facts, beat
  ), forgotten AS (
    DELETE FROM troupe.node USING jsonb_array_elements($3::jsonb) AS old
      WHERE id = old->>0 AND beat::text = old->>1 AND id <> $1
  )
  SELECT id, facts, beat::text AS beat, 0::float8 AS age FROM own
  UNION ALL
  SELECT id, facts, beat::text, greatest(0, extract(epoch FROM clock_timestamp() - beat) * 1000)::float8
    FROM troupe.node WHERE id <> $1`;

interface NodeColumns {
  readonly id: string;
  readonly facts: string;
  readonly age: number;
}

function toEntry({ id, facts, age }: NodeColumns): NodeEntry {
  return { node: id, ...(JSON.parse(facts) as Omit<NodePresence, "node">), ageMs: age };
}
