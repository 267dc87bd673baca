import { AgentError } from "../../errors.ts";
import { createSpeaker } from "../../protocol/events/encode.ts";
import type { Speaker } from "../../protocol/events/encode.ts";
import { secretsIn } from "../agent/config-secrets.ts";
import { isConfigRun, NO_AGENT } from "../journal/system-runs.ts";
import { copyHistory } from "./fork.ts";
import type { ConfigureMessage, CreateMessage, ForkMessage, UploadMessage } from "./messages.ts";
import type { RunContext } from "../run-context.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { toJson } from "../journal/json-limits.ts";

/** A message that is recorded and starts no turn. */
export type Note = ConfigureMessage | CreateMessage | ForkMessage | UploadMessage;

/** Records changes of a run outside its turns: its creation, its configuration, client files. */
export class RunUpdates {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;

  constructor(context: RunContext, ledger: RunLedger) {
    this.#context = context;
    this.#ledger = ledger;
  }

  /** Records a change and returns the id of the event before it. */
  async write(note: Note): Promise<number> {
    switch (note.kind) {
      case "configure":
        return this.#configure(note);
      case "create":
        return this.#create(note);
      case "fork":
        return this.#fork(note);
      case "uploaded":
        return this.#uploaded(note);
      default: {
        const never: never = note;
        return never;
      }
    }
  }

  #configure({ args, isTrial }: ConfigureMessage): number {
    const ledger = this.#ledger;
    const { config } = ledger.state;
    const version = (config?.version ?? 0) + 1;
    const all = { ...config?.args, ...args };
    toJson(all, "the configuration", this.#context.limits.configBytes);
    if (isTrial) return ledger.recorder.head;
    // The configuration of an agent is kept in a hidden run without turns.
    if (!ledger.begun) ledger.begin(NO_AGENT, null, {}, undefined);
    ledger.change({ type: "ConfigRecorded", version, args: all });
    // A run can be forked at a point with an older configuration; for an agent only the current one is
    // needed.
    if (config && isConfigRun(ledger.runId)) {
      const kept = new Set(secretsIn(all));
      ledger.recorder.drop(secretsIn(config.args).filter((name) => !kept.has(name)));
    }
    ledger.save({ snapshot: isConfigRun(ledger.runId) });
    return ledger.recorder.head;
  }

  #create({ agent, input, metadata, alias }: CreateMessage): number {
    const ledger = this.#ledger;
    ledger.begin(agent, input, metadata, this.#context.agents.configOf(agent));
    if (alias !== undefined) ledger.recorder.alias({ agent, name: alias });
    ledger.recorder.event(this.#speakerOf(agent), { type: "RunCreated", input, metadata });
    ledger.save();
    return 0;
  }

  async #fork({ source: sourceId, after }: ForkMessage): Promise<number> {
    const ledger = this.#ledger;
    const { agents, log } = this.#context;
    const source = await log.run(sourceId);
    if (source === undefined) throw new AgentError("not_found", `there is no run ${sourceId}`);
    // The run is hidden until its history is complete.
    ledger.begin(NO_AGENT, null, {}, undefined);
    ledger.save();
    await copyHistory(this.#context, ledger, { source, after, target: ledger.runId });
    const forkedFrom = { forked_from: { run_id: sourceId, id: after } };
    const config = after === 0 ? agents.configOf(source.agent) : undefined;
    ledger.begin(source.agent, source.initialInput, { ...source.metadata, ...forkedFrom }, config);
    ledger.save({ snapshot: true });
    return after;
  }

  #uploaded({ agent, artifact: { artifactId, name, mimeType, sizeBytes, url } }: UploadMessage): number {
    const ledger = this.#ledger;
    const { id } = ledger.recorder.event(this.#speakerOf(agent), {
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

  /** Notes belong to no request. */
  #speakerOf(agent: string): Speaker {
    return createSpeaker({ run_id: this.#ledger.runId, request_id: null, agent, depth: 0 });
  }
}
