import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toFragment } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";

/** Lists of runs that a person has given names, kept in this browser. */
export function SavedViews({ place }: { readonly place: ConsolePlace & { readonly name: "runs" } }): VNode {
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState<string>();
  const here = toFragment(place);
  const change = (next: readonly SavedView[]): void => {
    localStorage.setItem(NAME, JSON.stringify(next));
    setViews(next);
  };
  const isNew = !views.some(({ fragment }) => fragment === here) && here !== "#/runs";
  if (views.length === 0 && !isNew) return <></>;
  return (
    <div class="views">
      {views.map((view) => (
        <span key={view.name} class="view">
          <a href={view.fragment} aria-current={view.fragment === here ? "page" : undefined}>
            {view.name}
          </a>
          <button
            type="button"
            class="button quiet small"
            aria-label={`Forget the view ${view.name}`}
            onClick={() => change(views.filter((other) => other !== view))}
          >
            ✕
          </button>
        </span>
      ))}
      {isNew && name === undefined && (
        <button type="button" class="button quiet small" onClick={() => setName("")}>
          Save this view
        </button>
      )}
      {name !== undefined && (
        <form
          class="actions"
          onSubmit={(event) => {
            event.preventDefault();
            const given = name.trim();
            if (given === "") return;
            change([...views.filter((other) => other.name !== given), { name: given, fragment: here }]);
            setName(undefined);
          }}
        >
          <input
            class="input small"
            aria-label="Name of the view"
            placeholder="Name of the view"
            maxLength={40}
            autofocus
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
          <button type="submit" class="button small">
            Save
          </button>
          <button type="button" class="button quiet small" onClick={() => setName(undefined)}>
            Cancel
          </button>
        </form>
      )}
    </div>
  );
}

interface SavedView {
  readonly name: string;
  /** The address of the list, below the page. */
  readonly fragment: string;
}

const NAME = "troupe-views";

function readViews(): readonly SavedView[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(kept) ? kept.filter(isView) : [];
  } catch {
    return [];
  }
}

/** Anything else in the storage is left out: an address leads to a list of runs only. */
function isView(value: unknown): value is SavedView {
  const { name, fragment } = Object(value) as Partial<SavedView>;
  return typeof name === "string" && typeof fragment === "string" && /^#\/runs(\?|$)/.test(fragment);
}
