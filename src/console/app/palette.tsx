import "../styles/palette.css";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RunSummary } from "../../protocol/answers/status.ts";
import { readAgentNames } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { RUN_TABS } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { askedIn } from "../runs/run-words.ts";
import { useConsole } from "./context.ts";

/** Goes anywhere: places, agents, runs by their words. It opens with Ctrl K, and ends with Escape or a choice. */
export function Palette({ onClose }: { readonly onClose: () => void }): VNode {
  const { server, place, go } = useConsole();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  const agents = useResource(server.url, (signal) => readAgentNames(server, signal)).value;
  const runs = useResource(`${server.url} ${text}`, async (signal) => {
    if (text.trim() === "") return [];
    const { json } = await server.ask("GET", "/runs", { query: { q: text, limit: RUNS }, signal });
    return json as readonly RunSummary[];
  }).value;
  const choices = useMemo(
    () => toChoices(text, place, agents ?? [], runs ?? []),
    [text, place, agents, runs],
  );
  const chosen = Math.min(at, choices.length - 1);
  const choose = (choice: PaletteChoice | undefined): void => {
    if (choice === undefined) return;
    onClose();
    go(choice.place);
  };
  return (
    <dialog class="palette" ref={box} aria-label="Go to" onClose={onClose}>
      <input
        class="input"
        type="search"
        aria-controls="palette-list"
        aria-activedescendant={chosen >= 0 ? `palette-${chosen}` : undefined}
        aria-label="Go to a place, an agent or a run"
        placeholder="Go to a place, an agent or a run"
        autofocus
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step !== 0) setAt((chosen + step + choices.length) % Math.max(1, choices.length));
          else if (event.key === "Enter") choose(choices[chosen]);
          else return;
          event.preventDefault();
        }}
      />
      <div id="palette-list" role="listbox" aria-label="Where to">
        {choices.map((choice, index) => (
          <button
            type="button"
            key={choice.key}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => choose(choice)}
            onPointerMove={() => setAt(index)}
          >
            <span class="one-line" dir="auto">
              {choice.label}
            </span>
            <span class="second">{choice.kind}</span>
          </button>
        ))}
      </div>
      {choices.length === 0 && <p class="second">Nothing has this name.</p>}
    </dialog>
  );
}

interface PaletteChoice {
  readonly key: string;
  readonly label: string;
  readonly kind: string;
  readonly place: ConsolePlace;
}

const RUNS = 6;
const MOST = 12;

function toChoices(
  text: string,
  place: ConsolePlace,
  agents: readonly string[],
  runs: readonly RunSummary[],
): readonly PaletteChoice[] {
  const wanted = text.trim().toLowerCase();
  const fits = ({ label }: PaletteChoice): boolean => label.toLowerCase().includes(wanted);
  const tabs =
    place.name === "run"
      ? RUN_TABS.map((tab) => ({
          key: `tab ${tab}`,
          label: tab,
          kind: "of this run",
          place: { ...place, tab },
        }))
      : [];
  const named = agents.map((agent) => {
    return {
      key: `agent ${agent}`,
      label: agent,
      kind: "agent",
      place: { name: "agents", agent, query: {} } as const,
    };
  });
  const found = runs.map((run) => {
    const to = { name: "run", runId: run.run_id, tab: "chat", query: {} } as const;
    return { key: run.run_id, label: askedIn(run), kind: `run of ${run.agent}`, place: to };
  });
  return [...[...PLACES, ...tabs, ...named].filter(fits).slice(0, MOST), ...found];
}

const PLACES: readonly PaletteChoice[] = (
  [
    ["Overview", "overview", {}],
    ["Runs", "runs", {}],
    ["Agents", "agents", {}],
    ["Actors", "actors", {}],
    ["Inbox", "inbox", {}],
    ["Statistics: spend", "statistics", {}],
    ["Statistics: failures", "statistics", { view: "failures" }],
    ["Statistics: latency", "statistics", { view: "latency" }],
    ["Audit", "audit", {}],
    ["API", "api", {}],
    ["Health", "health", {}],
  ] as const
).map(([label, name, query]) => ({ key: label, label, kind: "place", place: { name, query } }));
