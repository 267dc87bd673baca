import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Json } from "../../protocol/json.ts";
import { changeOf, earlierAt, removedFrom } from "./changes.ts";
import type { Earlier } from "./changes.ts";

interface JsonTreeProps {
  readonly value: Json;
  /** How many levels are open at first. Default 2. */
  readonly open?: number;
  /** An earlier value; what is different from it is marked. */
  readonly earlier?: Earlier | undefined;
}

/** A JSON value whose objects and lists open and close. */
export function JsonTree({ value, open = 2, earlier }: JsonTreeProps): VNode {
  return (
    <div class="json">
      <Value value={value} open={open} earlier={earlier} />
    </div>
  );
}

interface ValueProps {
  readonly value: Json;
  readonly open: number;
  readonly earlier: Earlier | undefined;
}

function Value({ value, open, earlier }: ValueProps): VNode {
  if (typeof value === "string") return <Text text={value} />;
  if (typeof value !== "object" || value === null) return <span class="atom">{String(value)}</span>;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const removed = removedFrom(value, earlier);
  if (entries.length + removed.length === 0) return <span class="second">{isList ? "[]" : "{}"}</span>;
  return <Branch entries={entries} removed={removed} isList={isList} open={open} earlier={earlier} />;
}

interface BranchProps {
  readonly entries: readonly (readonly [string, Json])[];
  /** The keys of the earlier value that are gone. */
  readonly removed: readonly string[];
  readonly isList: boolean;
  readonly open: number;
  readonly earlier: Earlier | undefined;
}

/** Draws its entries when it is opened first, so that a large value costs what is looked at. */
function Branch({ entries, removed, isList, open, earlier }: BranchProps): VNode {
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
          {entries.slice(0, shown).map(([key, value]) => {
            const before = earlier && earlierAt(earlier, key);
            const change = before && changeOf(value, before);
            return (
              <li key={key} data-change={change}>
                <span class="key">{key}: </span>
                {change !== undefined && <span class="change">{change}</span>}{" "}
                {/* Of what is new, each part is new. */}
                <Value value={value} open={open - 1} earlier={change === "new" ? undefined : before} />
              </li>
            );
          })}
          {removed.map((key) => (
            <li key={`removed ${key}`} data-change="removed">
              <span class="key">{key}: </span>
              <span class="change">removed</span>
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
