/**
 * The eighteenth change of the schema: the indexes of lists of runs have the status or the agent behind what they sort by. So a list leaves
 * out runs by the index, of which there can be many, without reading their rows. They replace those of the same names, so that a turn
 * writes no more entries, and serve nodes of the version before as those did. The index of all runs stays as it is: with the status in it, the
 * planner takes it for the runs that wait, which can all be at its end. The runs that failed have indexes of their own, in which a
 * turn that ends well writes nothing.
 */
export const LIST_INDEXES: string = `${replaced(["status"], ["agent"])}
CREATE INDEX run_failed ON troupe.run (updated_at DESC, id, agent) WHERE stored AND NOT removed AND ${failed()};
CREATE INDEX run_failed_of ON troupe.run (belongs_to, updated_at DESC, id, agent)
  WHERE stored AND NOT removed AND belongs_to <> 'default' AND ${failed()};
-- The runs of most agents never wait. Without this the planner takes an index that would be right if those of each did as often.
CREATE STATISTICS troupe.run_agent_status (mcv) ON agent, status FROM troupe.run;
ANALYZE troupe.run;
`;

/** What takes the eighteenth change back. An index is no data, so nothing is lost. */
export const LIST_INDEXES_BACK: string = `
DROP STATISTICS troupe.run_agent_status;
DROP INDEX troupe.run_failed, troupe.run_failed_of;
${replaced([], [])}
`;

/** The condition that the newest turn of a run has failed. In the text of an error each quotation mark is escaped. */
export function failed(): string {
  return `strpos(last_turn, '"finish_reason":"error"') > 0`;
}

/** Replaces the indexes by ones with these columns at their ends: those of all runs, and that of the runs with something to do. */
function replaced(ofAll: readonly string[], ofBusy: readonly string[]): string {
  const order = (more: readonly string[]): string => ["updated_at DESC", "id", ...more].join(", ");
  return `
DROP INDEX troupe.run_agent, troupe.run_busy, troupe.run_belongs_to, troupe.run_belongs_to_agent;
CREATE INDEX run_agent ON troupe.run (agent, ${order(ofAll)}) WHERE stored AND NOT removed;
CREATE INDEX run_busy ON troupe.run (status, ${order(ofBusy)}) WHERE stored AND NOT removed AND status > 0;
CREATE INDEX run_belongs_to ON troupe.run (belongs_to, ${order(ofAll)})
  WHERE stored AND NOT removed AND belongs_to <> 'default';
CREATE INDEX run_belongs_to_agent ON troupe.run (belongs_to, agent, ${order(ofAll)})
  WHERE stored AND NOT removed AND belongs_to <> 'default';`;
}
