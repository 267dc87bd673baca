import type { ScheduleMark } from "../../ports/log-batch.ts";
import type { RunEntry, ScheduleEntry, ScheduleEntryPage } from "../../ports/log-entries.ts";
import type { ScheduleQuery, WakeQuery } from "../../ports/log-queries.ts";
import { ownerOf, toOwned } from "../../ports/principal.ts";
import type { RunId } from "../../protocol/ids.ts";
import { schedulePositionOf, toSchedulePage } from "../shared/lists.ts";

/** The schedules of all runs. */
export class ScheduleTable {
  readonly #ofRuns = new Map<RunId, Map<string, ScheduleEntry>>();

  apply(runId: RunId, owner: string, marks: readonly ScheduleMark[]): void {
    const own = this.#ofRuns.get(runId) ?? new Map<string, ScheduleEntry>();
    this.#ofRuns.set(runId, own);
    for (const { id, due, data } of marks) {
      if (data === undefined) own.delete(id);
      else
        own.set(id, {
          runId,
          ...toOwned(owner),
          id,
          ...(due !== undefined && { due: Math.ceil(due) }),
          data,
        });
    }
    if (own.size === 0) this.#ofRuns.delete(runId);
  }

  /** Gives all schedules of a run to another one. */
  move(from: RunId, to: RunId): void {
    const moved = this.#ofRuns.get(from);
    if (moved === undefined) return;
    this.#ofRuns.delete(from);
    this.#ofRuns.set(to, new Map([...moved].map(([id, entry]) => [id, { ...entry, runId: to }])));
  }

  remove(runId: RunId): void {
    this.#ofRuns.delete(runId);
  }

  list(query: ScheduleQuery, findRun: (runId: RunId) => RunEntry | undefined): ScheduleEntryPage {
    const { owner, agent, runId, id, limit, total = false } = query;
    const after = schedulePositionOf(query);
    const selected = this.#all(runId).filter(
      (entry) =>
        (owner === undefined || ownerOf(entry) === owner) &&
        (id === undefined || entry.id === id) &&
        (agent === undefined || findRun(entry.runId)?.agent === agent),
    );
    const behind = selected.filter((entry) => after === undefined || compare(entry, after) > 0).sort(compare);
    const page = toSchedulePage(behind.slice(0, limit + 1), query);
    return total ? { ...page, total: selected.length } : page;
  }

  due(
    { after = 0, notAfter = Infinity, limit, notOwnedBy }: WakeQuery,
    isOwnedBy: (runId: RunId, nodes: readonly string[] | undefined) => boolean,
  ): readonly ScheduleEntry[] {
    const due = ({ due: at = Infinity }: ScheduleEntry): number => at;
    return this.#all()
      .filter((entry) => entry.due !== undefined && entry.due > after && entry.due <= notAfter)
      .filter(({ runId }) => !isOwnedBy(runId, notOwnedBy))
      .sort((a, b) => due(a) - due(b) || compare(a, b))
      .slice(0, limit);
  }

  #all(runId?: RunId): readonly ScheduleEntry[] {
    const runs = runId === undefined ? [...this.#ofRuns.values()] : [this.#ofRuns.get(runId)];
    return runs.flatMap((run) => [...(run?.values() ?? [])]);
  }
}

type Place = Pick<ScheduleEntry, "id"> & { readonly runId: string };

function compare(a: Place, b: Place): number {
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
