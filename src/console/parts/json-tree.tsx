import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "../../protocol/json.ts";

interface JsonTreeProps {
  readonly value: Json;
  /** How many levels are open at first. Default 2. */
  readonly open?: number;
}

/** A JSON value whose objects and lists open and close. */
export function JsonTree({ value, open = 2 }: JsonTreeProps): VNode {
  return (
    <div class="json">
      <Value value={value} open={open} />
    </div>
  );
}

function Value({ value, open }: { readonly value: Json; readonly open: number }): VNode {
  if (typeof value === "string") return <Text text={value} />;
  if (typeof value !== "object" || value === null) return <span class="atom">{String(value)}</span>;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return <span class="second">{isList ? "[]" : "{}"}</span>;
  return <Branch entries={entries} isList={isList} open={open} />;
}

interface BranchProps {
  readonly entries: readonly (readonly [string, Json])[];
  readonly isList: boolean;
  readonly open: number;
}

/** Draws its entries when it is opened first, so that a large value costs what is looked at. */
function Branch({ entries, isList, open }: BranchProps): VNode {
  const [isOpen, setOpen] = useState(open > 0);
  const [shown, setShown] = useState(PIECE);
  const [name, few] = isList ? ["list", `[${entries.length}]`] : ["object", `{${entries.length}}`];
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="second" aria-label={`${name} with ${entries.length} entries`}>
        {few}
      </summary>
      {isOpen && (
        <ul>
          {entries.slice(0, shown).map(([key, value]) => (
            <li key={key}>
              <span class="key">{key}: </span>
              <Value value={value} open={open - 1} />
            </li>
          ))}
          {entries.length > shown && (
            <li>
              <button type="button" class="button quiet small" onClick={() => setShown(shown + PIECE * 10)}>
                {entries.length - shown} more
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}

function Text({ text }: { readonly text: string }): VNode {
  const [isWhole, setWhole] = useState(text.length <= TEXT);
  return (
    <span class="string" dir="auto">
      {isWhole ? JSON.stringify(text) : `${JSON.stringify(text.slice(0, TEXT)).slice(0, -1)}…`}
      {!isWhole && (
        <button type="button" class="button quiet small" onClick={() => setWhole(true)}>
          all {text.length} characters
        </button>
      )}
    </span>
  );
}

const PIECE = 100;
const TEXT = 2_000;
