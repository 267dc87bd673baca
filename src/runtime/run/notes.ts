import { AgentError } from "../../errors.ts";
import { createSpeaker } from "../../protocol/encode.ts";
import type { Speaker } from "../../protocol/encode.ts";
import { NO_AGENT } from "../journal/system-runs.ts";
import { copyHistory } from "./fork.ts";
import type { ConfigureMessage, CreateMessage, ForkMessage, UploadMessage } from "./messages.ts";
import type { RunContext } from "../run-context.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { toJson } from "../journal/json-limits.ts";

/** A message that is written down and starts no turn. */
export type Note = ConfigureMessage | CreateMessage | ForkMessage | UploadMessage;

/** What a run's notes are written with. */
export interface RunUpdatesOptions {
  readonly context: RunContext;
  readonly ledger: RunLedger;
  /** Writes the run's row as it is now, with a snapshot where that is asked for. */
  save(snapshot?: boolean): void;
}

/** Writes down what a run is told beside its turns: how it began, its configuration, files of clients. */
export class RunUpdates {
  readonly #options: RunUpdatesOptions;

  constructor(options: RunUpdatesOptions) {
    this.#options = options;
  }

  /** Writes a note; the answer is the id of the event before what was written. */
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
    const { context, ledger, save } = this.#options;
    const { config } = ledger.state;
    const version = (config?.version ?? 0) + 1;
    const all = { ...config?.args, ...args };
    toJson(all, "the configuration", context.limits.configBytes);
    if (isTrial) return ledger.recorder.head;
    // The configuration of an agent is kept in a log without turns, under no agent's name.
    if (!ledger.begun) ledger.begin(NO_AGENT, null, {}, undefined);
    ledger.change({ type: "ConfigRecorded", version, args: all });
    save();
    return ledger.recorder.head;
  }

  #create({ agent, input, metadata, alias }: CreateMessage): number {
    const { context, ledger, save } = this.#options;
    ledger.begin(agent, input, metadata, context.agents.configOf(agent));
    if (alias !== undefined) ledger.recorder.alias(alias);
    ledger.recorder.event(this.#speakerOf(agent), { type: "RunCreated", input, metadata });
    save();
    return 0;
  }

  async #fork({ source: sourceId, after }: ForkMessage): Promise<number> {
    const { context, ledger, save } = this.#options;
    const { agents, log } = context;
    const source = await log.run(sourceId);
    if (source === undefined) throw new AgentError("not_found", `there is no run ${sourceId}`);
    // The run shows in no list until its history is complete.
    ledger.begin(NO_AGENT, null, {}, undefined);
    save();
    await copyHistory(log, ledger, { source, after, target: ledger.runId });
    const forkedFrom = { forked_from: { run_id: sourceId, id: after } };
    const config = after === 0 ? agents.configOf(source.agent) : undefined;
    ledger.begin(source.agent, source.initialInput, { ...source.metadata, ...forkedFrom }, config);
    save(true);
    return after;
  }

  #uploaded({ agent, artifact: { artifactId, name, mimeType, sizeBytes, url } }: UploadMessage): number {
    const { ledger, save } = this.#options;
    const { id } = ledger.recorder.event(this.#speakerOf(agent), {
      type: "ArtifactUploaded",
      name,
      artifact_id: artifactId,
      url,
      mime_type: mimeType,
      size_bytes: sizeBytes,
    });
    save();
    return id - 1;
  }

  /** What is written here belongs to no request. */
  #speakerOf(agent: string): Speaker {
    return createSpeaker({ run_id: this.#options.ledger.runId, request_id: null, agent, depth: 0 });
  }
}
