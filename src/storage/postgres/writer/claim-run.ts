import type { RunEntry, Snapshot } from "../../../ports/log-entries.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Database } from "../connection/database.ts";
import { toRun, toSnapshot } from "../reader/row-types.ts";
import type { RunColumns, SnapshotColumns } from "../reader/row-types.ts";

/** The node that claims a run, and the nodes whose runs it does not take. */
export interface NewClaim {
  readonly node: string;
  readonly spared: readonly string[];
  /** The channel on which the earlier owner hears of the claim. */
  readonly channel: string;
}

/** A run as its owner needs it. */
export interface ClaimedRow extends OwnColumns {
  readonly epoch: number;
  readonly entry: RunEntry | undefined;
  readonly snapshot: Snapshot | undefined;
}

interface OwnColumns {
  readonly appends: number;
  readonly head: number;
  readonly records: number;
  readonly stored: boolean;
  readonly removed: boolean;
}

type ClaimColumns = RunColumns & SnapshotColumns & OwnColumns;

/** Claims a run in the database, unless one of the spared nodes holds it; then it returns that node. */
export async function claimRun(
  database: Database,
  runId: RunId,
  { node, spared, channel }: NewClaim,
): Promise<ClaimedRow | { readonly holder: string }> {
  const [row] = await database.ask<{
    holder: string | null;
    claim: number | null;
    claimed: ClaimColumns | null;
  }>("SELECT * FROM troupe.claim_1($1, $2, $3, $4)", [runId, node, spared, channel]);
  if (row === undefined || row.holder !== null) return { holder: row?.holder ?? "" };
  const { claim: epoch, claimed } = row;
  // Another node has released the run without an append during the claim, which deletes its row.
  if (epoch === null || claimed === null) return claimRun(database, runId, { node, spared, channel });
  const { appends, head, records, stored, removed } = claimed;
  return {
    epoch,
    appends,
    head,
    records,
    stored,
    removed,
    entry: stored ? toRun(claimed) : undefined,
    snapshot: toSnapshot(claimed),
  };
}
