import type { OwnerQuery } from "../../ports/log-queries.ts";
import type { Router } from "../../ports/router.ts";
import type { RunId } from "../../protocol/ids.ts";
import { forEachConcurrent } from "../../shared/map-concurrent.ts";

/** The number of runs that are processed at once: enough that each commit contains many of them. */
export const RUNS_AT_ONCE = 64;

/** The other nodes that can own runs. */
export function livingOthers(router: Router): readonly string[] {
  return living(router, ({ isSelf }) => !isSelf);
}

/** Leaves out the runs of other living nodes. */
export function notOwnedByOthers(router: Router): OwnerQuery {
  const notOwnedBy = livingOthers(router);
  return notOwnedBy.length === 0 ? {} : { notOwnedBy };
}

/** Leaves out the runs of all living nodes, with this one. */
export function notOwned(router: Router): OwnerQuery {
  return { notOwnedBy: living(router, () => true) };
}

/** The runs of these entries that this node owns, or that no node owns and placement gives to this one; each once. */
export async function ownRuns(
  router: Router,
  entries: readonly { readonly runId: RunId }[],
): Promise<readonly RunId[]> {
  const runIds = [...new Set(entries.map(({ runId }) => runId))];
  if (router.members().length === 0) return runIds;
  const own = new Set<RunId>();
  await forEachConcurrent(runIds, RUNS_AT_ONCE, async (runId) => {
    if (await router.isMine(runId)) own.add(runId);
  });
  return runIds.filter((runId) => own.has(runId));
}

function living(
  router: Router,
  wanted: (member: { readonly isSelf: boolean }) => boolean,
): readonly string[] {
  return router
    .members()
    .filter((member) => member.isAlive && wanted(member))
    .map(({ node }) => node);
}
