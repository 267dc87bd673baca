import { AgentError } from "../../errors.ts";
import { secretNamesIn } from "../secrets/config-secrets.ts";
import { isConfigRun, NO_AGENT } from "../journal/system-runs.ts";
import { copyHistory, filesIn, toCopy } from "./fork.ts";
import { copyTurn, readForkedTurn } from "./forked-turn.ts";
import type { ConfigureMessage, CreateMessage, ForkMessage, UploadMessage } from "./messages.ts";
import type { RunContext } from "../run-context.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { toJson } from "../journal/json-limits.ts";

/** A message that is recorded and starts no turn. */
export type Note = ConfigureMessage | CreateMessage | ForkMessage | UploadMessage;

/**
 * Records a change of a run outside its turns: its creation, its configuration, client files. Returns the id of the
 * event before it.
 */
export async function recordNote(context: RunContext, ledger: RunLedger, note: Note): Promise<number> {
  switch (note.kind) {
    case "configure":
      return context.secrets.with(note.args, async () => configure(context, ledger, note));
    case "create":
      return create(context, ledger, note);
    case "fork":
      return fork(context, ledger, note);
    case "uploaded":
      return uploaded(ledger, note);
    default: {
      const never: never = note;
      return never;
    }
  }
}

function configure(
  context: RunContext,
  ledger: RunLedger,
  { id, args, isTrial, by }: ConfigureMessage,
): number {
  const { config } = ledger.state;
  const version = (config?.version ?? 0) + 1;
  const all = { ...config?.args, ...args };
  toJson(all, "the configuration", context.limits.configBytes);
  if (isTrial) return ledger.recorder.head;
  // The configuration of an agent is kept in a hidden run without turns.
  if (!ledger.begun) ledger.begin(NO_AGENT, null, {});
  ledger.change({ type: "ConfigRecorded", version, args: all, id, ...(by && { by }) });
  ledger.recorder.audit("configure", by);
  // A run can be forked at a point with an older configuration; for an agent only the current one is
  // needed.
  const isConfig = isConfigRun(ledger.runId);
  if (config && isConfig) {
    const kept = new Set(secretNamesIn(all));
    ledger.recorder.drop(secretNamesIn(config.args).filter((name) => !kept.has(name)));
  }
  // A start reads the newest configuration of each agent, and must not read those before it.
  ledger.save(isConfig ? "now" : undefined);
  return ledger.recorder.head;
}

function create(
  context: RunContext,
  ledger: RunLedger,
  { agent, input, metadata, key, owner, by }: CreateMessage,
): number {
  ledger.begin(agent, input, metadata, { config: context.agents.configOf(agent), owner });
  if (key !== undefined) ledger.name(agent, key);
  ledger.recorder.event(ledger.speakerOf({ requestId: null, agent }), {
    type: "RunCreated",
    input,
    metadata,
    ...(key !== undefined && { key }),
    ...(by && { by }),
  });
  ledger.save();
  return 0;
}

async function fork(
  context: RunContext,
  ledger: RunLedger,
  { source: sourceId, after, turn, key, by }: ForkMessage,
): Promise<number> {
  const { agents, files, log } = context;
  const source = await log.run(sourceId);
  if (source === undefined) throw new AgentError("not_found", `there is no run ${sourceId}`);
  const { runId: target } = ledger;
  const forked = turn && (await readForkedTurn(context, source, turn.waitId));
  // The run is hidden until its history is complete.
  const { owner } = source;
  if (!ledger.begun) ledger.begin(NO_AGENT, null, {}, { owner });
  ledger.save();
  const history = forked ? { after: forked.started - 1, state: forked.before } : { after };
  await copyHistory(context, ledger, { source, target, by, ...history });
  const forkedFrom = { forked_from: { run_id: sourceId, id: after } };
  const config = after === 0 ? agents.configOf(source.agent) : undefined;
  const metadata = { ...source.metadata, ...forkedFrom };
  ledger.begin(source.agent, source.initialInput, metadata, { config, owner });
  if (key !== undefined) ledger.name(source.agent, key, sourceId);
  if (forked === undefined || turn === undefined) {
    ledger.save("due");
    return after;
  }
  const named = forked.entries.flatMap((entry) => (typeof entry === "string" ? filesIn(entry) : []));
  if (named.length > 0) await files.attach(named, target);
  const { requestId } = turn;
  await copyTurn(context, ledger, forked, { requestId, toCopy: (text) => toCopy(text, sourceId, target) });
  return after;
}

function uploaded(
  ledger: RunLedger,
  { agent, artifact: { artifactId, name, mimeType, sizeBytes, url } }: UploadMessage,
): number {
  const { id } = ledger.recorder.event(ledger.speakerOf({ requestId: null, agent }), {
    type: "ArtifactUploaded",
    name,
    artifact_id: artifactId,
    url,
    mime_type: mimeType,
    size_bytes: sizeBytes,
  });
  ledger.save();
  return id - 1;
}
