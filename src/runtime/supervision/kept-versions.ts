import type { AgentVersion } from "../../ports/agent-version.ts";
import { pagesOf } from "../../shared/pages.ts";
import type { CodeVersions } from "../agent/candidate.ts";
import type { HostContext } from "../run-context.ts";

/** The time between two looks for kept versions that no turn needs, in milliseconds. */
const LOOK_MS = 3_600_000;

/** How long a version is kept while there are several nodes, in milliseconds: one that starts may not be known yet. */
const YOUNG_MS = 600_000;

/** Rows that are read at a time. */
const PAGE = 500;

/** Removes kept versions that no open turn began under, at the start and now and then; returns how to stop. */
export function startPruning(context: HostContext): () => void {
  const { agents, environment, router, telemetry } = context;
  const { versions } = agents;
  if (versions === undefined) return () => {};
  let stopped = false;
  let stopTimer = (): void => {};
  const look = (): void => {
    (router.leads("versions") ? prune(context, versions) : Promise.resolve())
      .catch((error: unknown) => telemetry.fault("kept versions could not be removed", error))
      .finally(() => {
        if (!stopped) stopTimer = environment.timer(LOOK_MS, look, { background: true });
      });
  };
  look();
  return () => {
    stopped = true;
    stopTimer();
  };
}

async function prune(context: HostContext, versions: CodeVersions): Promise<void> {
  const { environment, router } = context;
  const members = router.members();
  const needed = new Map<string, Set<string | undefined>>();
  const need = (agent: string, version: string | undefined): void => {
    const known = needed.get(agent);
    if (known) known.add(version);
    else needed.set(agent, new Set([version]));
  };
  // Before the turns are read: one that another node begins meanwhile has a version of that node.
  for (const { agents } of members)
    for (const [name, own] of Object.entries(agents))
      for (const { version } of [own, ...(own.beside ?? [])] satisfies readonly AgentVersion[])
        need(name, version);
  const keptBefore = environment.now() - (members.length > 0 ? YOUNG_MS : 0);
  await forEachOpen(context, need);
  await versions.prune((agent, version) => {
    const its = needed.get(agent);
    // What is not known of a turn may be any version.
    return its !== undefined && (its.has(version) || its.has(undefined));
  }, keptBefore);
}

/** Calls a function with the agent of each open turn, and the version that it began under. */
async function forEachOpen(
  { environment, log }: HostContext,
  found: (agent: string, version: string | undefined) => void,
): Promise<void> {
  // Those that continue while they are listed are running then.
  for (const status of ["waiting", "held", "running"] as const) {
    const query = { status, limit: PAGE } as const;
    for await (const { runs } of pagesOf((start) => log.list({ ...query, ...start }), environment))
      for (const { agent, lastTurn } of runs) found(agent, lastTurn?.agent_version);
  }
}
