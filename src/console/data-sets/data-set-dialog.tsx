import "../styles/palette.css";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { AgentError } from "../../errors.ts";
import { useConsole } from "../app/context.ts";
import { addToDataSet } from "../data/inspect.ts";
import type { AddedToDataSet } from "../data/inspect.ts";
import { ActButton } from "../parts/act-button.tsx";
import { refusalText } from "../parts/refusal.tsx";

interface DataSetDialogProps {
  readonly runIds: readonly string[];
  /** The names of those that are there. */
  readonly known: readonly string[];
  /** The name that is offered, unless a person has chosen another one before. */
  readonly offered: string;
  onClose(isDone: boolean): void;
}

/** Asks for the data set that runs are added to, and adds them. */
export function DataSetDialog({ runIds, known, offered, onClose }: DataSetDialogProps): VNode {
  const { server, say } = useConsole();
  const [name, setName] = useState(() => localStorage.getItem(NAME) ?? offered.replace(/[^\w-]/g, "-"));
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<AgentError>();
  const box = useRef<HTMLDialogElement>(null);
  const isDone = useRef(false);
  useEffect(() => box.current?.showModal(), []);
  const add = async (): Promise<void> => {
    setBusy(true);
    try {
      let sum = NOTHING;
      for (let at = 0; at < runIds.length; at += AT_ONCE) {
        // oxlint-disable-next-line no-await-in-loop -- one file is written
        sum = plus(sum, await addToDataSet(server, name, runIds.slice(at, at + AT_ONCE)));
      }
      localStorage.setItem(NAME, name);
      say(toSentence(sum));
      isDone.current = true;
      box.current?.close();
    } catch (thrown) {
      setError(toAgentError(thrown));
    }
    setBusy(false);
  };
  const isNew = !known.includes(name);
  const what = runIds.length === 1 ? "the run" : `${runIds.length} runs`;
  return (
    <dialog class="palette" ref={box} aria-label="Add to a data set" onClose={() => onClose(isDone.current)}>
      <form
        class="data-set"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void add();
        }}
      >
        <h2>Add {what} to a data set</h2>
        <p class="second">
          <code>troupe eval run {name || "NAME"}</code> tries changed agents with what was asked, and with the
          answers of people and tools.
        </p>
        <label class="field-name" for="data-set-name">
          Name
        </label>
        <input
          id="data-set-name"
          class="input"
          list="data-set-names"
          required
          pattern="[A-Za-z0-9][\w\-]{0,63}"
          title="1 to 64 letters, digits, _ or -"
          autocomplete="off"
          autofocus
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <datalist id="data-set-names">
          {known.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </datalist>
        <p class="second" role="status">
          {isNew ? "Makes" : "Adds to"} evals/{name || "NAME"}.jsonl in the project.
        </p>
        {error !== undefined && (
          <p class="note failed" role="alert">
            {refusalText(error)}
          </p>
        )}
        <div class="actions">
          <ActButton class="button primary" disabled={isBusy}>
            Add
          </ActButton>
          <button type="button" class="button" onClick={() => box.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

const NAME = "troupe-data-set";

/** The server takes so many at once. */
const AT_ONCE = 20;

const NOTHING: AddedToDataSet = { file: "", added: 0, known: 0, empty: 0, cases: 0 };

function plus(a: AddedToDataSet, b: AddedToDataSet): AddedToDataSet {
  return { ...b, added: a.added + b.added, known: a.known + b.known, empty: a.empty + b.empty };
}

/** `2 added, 1 was there already: evals/refunds.jsonl has 5 cases.` */
function toSentence({ file, added, known, empty, cases }: AddedToDataSet): string {
  const parts = [
    ...(added > 0 ? [`${added} added`] : []),
    ...(known > 0 ? [`${known} ${known === 1 ? "was" : "were"} there already`] : []),
    ...(empty > 0 ? [`${empty} without a turn to do again`] : []),
  ];
  return `${parts.join(", ")}: ${file} has ${cases} ${cases === 1 ? "case" : "cases"}.`;
}
