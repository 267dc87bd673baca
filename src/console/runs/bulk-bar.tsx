import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { mapConcurrent } from "../../shared/map-concurrent.ts";
import { useConsole } from "../app/context.ts";
import { AddToDataSet } from "../data-sets/add-to-data-set.tsx";
import { readInspectedProcess } from "../data/inspect.ts";
import { useResource } from "../data/resource.ts";
import { sendRemoval, sendCancel, sendRetry } from "../data/requests.ts";
import type { PageServer } from "../data/page-server.ts";
import { ActButton } from "../parts/act-button.tsx";

interface BulkBarProps {
  readonly runs: readonly RunSummary[];
  /** Ends the selection. */
  onDone(): void;
}

/** What can be done with several runs at once. */
export function BulkBar({ runs, onDone }: BulkBarProps): VNode {
  const { server, say } = useConsole();
  const known = useResource(server.url, (signal) => readInspectedProcess(server, signal)).value?.data_sets;
  const [busy, setBusy] = useState<BulkAct>();
  const [isSure, setSure] = useState(false);
  const doAll = async (act: BulkAct): Promise<void> => {
    const { fits, send, did } = ACTS[act];
    const chosen = runs.filter(fits);
    setBusy(act);
    const failures: string[] = [];
    const sendOne = (run: RunSummary): Promise<unknown> =>
      send(server, run).catch((thrown: unknown) => failures.push(toAgentError(thrown).message));
    for await (const _ of mapConcurrent(chosen, AT_ONCE, sendOne));
    setBusy(undefined);
    setSure(false);
    const done = `${chosen.length - failures.length} ${did}`;
    say(failures.length === 0 ? `${done}.` : `${done}, ${failures.length} not: ${failures[0]}`);
    if (failures.length === 0) onDone();
  };
  const button = (act: BulkAct, label: string): VNode => {
    const count = runs.filter(ACTS[act].fits).length;
    return (
      <ActButton
        key={`${act} ${count}`}
        class="button small"
        disabled={count === 0 || busy !== undefined}
        onAct={() => (act === "remove" && !isSure ? setSure(true) : void doAll(act))}
      >
        {label} {count > 0 && count}
      </ActButton>
    );
  };
  return (
    <div class="bulk" role="region" aria-label="Selected runs">
      <span class="number">{runs.length} selected</span>
      {button("cancel", "Cancel")}
      {button("retry", "Retry")}
      {known !== undefined && (
        <AddToDataSet
          class="button small"
          runIds={runs.map((run) => run.run_id)}
          known={known}
          offered={runs[0]?.agent ?? ""}
          onDone={onDone}
        />
      )}
      {button("remove", isSure ? "Remove for good" : "Remove")}
      <button type="button" class="button quiet small" onClick={onDone}>
        Select none
      </button>
    </div>
  );
}

type BulkAct = "cancel" | "retry" | "remove";

interface Act {
  /** Whether it can be done with a run. */
  fits(run: RunSummary): boolean;
  send(server: PageServer, run: RunSummary): Promise<void>;
  readonly did: string;
}

const ACTS: Readonly<Record<BulkAct, Act>> = {
  cancel: {
    fits: ({ status, last_turn: last }) => status !== "idle" && last !== undefined,
    async send(server, { agent, last_turn: last }) {
      if (last !== undefined) await sendCancel(server, agent, last.request_id);
    },
    did: "canceled",
  },
  retry: {
    fits: ({ status }) => status === "held",
    send: (server, { run_id: runId }) => sendRetry(server, runId),
    did: "tried again",
  },
  remove: {
    fits: () => true,
    send: (server, { run_id: runId }) => sendRemoval(server, runId),
    did: "removed",
  },
};

const AT_ONCE = 4;
