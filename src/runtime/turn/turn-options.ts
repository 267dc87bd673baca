import type { ArtifactStore } from "../../ports/artifact-store.ts";
import type { Environment } from "../../ports/environment.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { FinishReason, TurnError, Usage } from "../../protocol/events.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Agent, Collaborators } from "../agent/agent.ts";
import type { RemoteHandler } from "../agent/remote-port.ts";
import type { TurnJournal } from "../replay/turn-journal.ts";
import type { Limits } from "../limits.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { Recorder } from "../journal/recorder.ts";
import type { RunArtifacts } from "../artifacts/run-artifacts.ts";

/** What a turn is given by its run. */
export interface TurnOptions {
  readonly runId: RunId;
  readonly accepted: AcceptedRequest;
  /** The number of the turn in its run. */
  readonly number: number;
  readonly agent: Agent;
  /** What happened in this turn before, if it is continued. */
  readonly journal: TurnJournal;
  /** What the agents keep for the run, as of the start of the turn. */
  readonly memory: JsonObject;
  readonly config: JsonObject;
  /** How an agent that is called is configured now, without the values of secrets; `undefined` when it is not. */
  readonly configOf: (agent: Agent) => JsonObject | undefined;
  /** Puts the values of secrets into a configuration. */
  readonly reveal: (config: JsonObject) => JsonObject;
  readonly recorder: Recorder;
  readonly environment: Environment;
  readonly telemetry: Telemetry;
  readonly artifacts: ArtifactStore;
  /** Where the turn stores files of its own. */
  readonly files: RunArtifacts;
  readonly limits: Limits;
  /** Whom an agent works with, by its own names for them. */
  readonly usesOf: (agent: Agent) => Collaborators;
  /** An agent elsewhere that an agent here may call. */
  readonly remoteOf: (name: string) => RemoteHandler | undefined;
  /** Called when what the turn waits for may have changed. */
  readonly changed: () => void;
  /** Writes the end of the turn into the log and returns its encoded event; called once, with the calls below already closed. */
  readonly complete: (end: TurnEnd) => string;
}

/** How a turn ends. */
export interface TurnEnd {
  readonly finishReason: FinishReason;
  readonly result: string | null;
  readonly truncated?: boolean;
  readonly output: Json;
  readonly error?: TurnError;
  /** What the completions of the turn cost, where there were any. */
  readonly usage?: Usage;
  /** What to keep for the run, by agent. */
  readonly memory: ReadonlyMap<string, Json>;
}
