import type { RecordedRun } from "../../runtime/recording.ts";

/** The pages of the console: files that the server sends as they are, and what they offer beside the runtime. */
export interface ConsolePages {
  /** The version of the package, which the console shows. */
  readonly version?: string;
  /** The page itself, which is sent at the root. Its links are relative to the root. */
  readonly page: string;
  /** The files below `/console/`, by name. */
  readonly files: ReadonlyMap<string, ConsoleFile>;
  /** The address of a trace where traces are looked at, with `{trace}` in the place of its id. Default: no link. */
  readonly traceUrl?: string;
  /** The data sets that an admin adds runs to. Default: none. */
  readonly dataSets?: DataSets;
}

/** Sets of recorded runs, with which changed agents are tried. */
export interface DataSets {
  /** Whether runs can be added. */
  canAdd(): Promise<boolean>;
  names(): Promise<readonly string[]>;
  /** Adds runs to a data set, and makes it if there is none. Throws an AgentError. */
  add(name: string, runs: readonly RecordedRun[]): Promise<AddedRuns>;
  /** What the newest evaluation of a data set has found, as JSON; without reports if there was none. Throws an AgentError. */
  report(name: string): Promise<string>;
}

/** What became of runs that were added to a data set. */
export interface AddedRuns {
  /** Where it is kept. */
  readonly file: string;
  readonly added: number;
  /** How many it had before; they stay as they are. */
  readonly known: number;
  /** How many have no turn that can be done again. */
  readonly empty: number;
  /** The number of all its cases. */
  readonly cases: number;
}

/** A file of the console. */
export interface ConsoleFile {
  readonly type: string;
  readonly text: string;
}
