/** A tab of a run, by its name in addresses. */
export type RunTab =
  | "chat"
  | "timeline"
  | "sequence"
  | "actors"
  | "statechart"
  | "events"
  | "state"
  | "files";

/** The tabs of a run, in the order in which they are shown. */
export const RUN_TABS: readonly RunTab[] = [
  "chat",
  "timeline",
  "sequence",
  "actors",
  "statechart",
  "events",
  "state",
  "files",
];

/** A place of the console with what its address says about it. */
export type ConsolePlace =
  | { readonly name: "overview"; readonly query: PlaceQuery }
  | { readonly name: "runs"; readonly query: PlaceQuery }
  | { readonly name: "run"; readonly runId: string; readonly tab: RunTab; readonly query: PlaceQuery }
  | { readonly name: "inbox"; readonly query: PlaceQuery }
  | { readonly name: "actors"; readonly query: PlaceQuery }
  | { readonly name: "statistics"; readonly query: PlaceQuery }
  | { readonly name: "audit"; readonly query: PlaceQuery }
  | { readonly name: "api" | "health"; readonly query: PlaceQuery }
  | { readonly name: "compare"; readonly a: string; readonly b: string; readonly query: PlaceQuery }
  | { readonly name: "agents"; readonly agent?: string; readonly query: PlaceQuery }
  | { readonly name: "lost"; readonly path: string; readonly query: PlaceQuery };

/** The further settings in an address: filters, the event of which the run is shown. */
export type PlaceQuery = Readonly<Record<string, string>>;

/** Reads a place from the fragment of an address. */
export function parsePlace(fragment: string): ConsolePlace {
  const text = fragment.replace(/^#?\/?/, "");
  const [path = "", search = ""] = text.split("?", 2);
  const query: PlaceQuery = Object.fromEntries(new URLSearchParams(search));
  const [name = "", first, second, ...rest] = path.split("/").map(decode);
  const lost: ConsolePlace = { name: "lost", path, query };
  if (rest.length > 0) return lost;
  switch (name) {
    case "":
      return { name: "overview", query };
    case "runs": {
      if (first === undefined || first === "") return { name: "runs", query };
      const tab = RUN_TABS.find((known) => known === (second ?? "chat"));
      return tab === undefined ? lost : { name: "run", runId: first, tab, query };
    }
    case "compare":
      return first && second ? { name: "compare", a: first, b: second, query } : lost;
    case "inbox":
    case "actors":
    case "statistics":
    case "audit":
    case "api":
    case "health":
      return first === undefined ? { name, query } : lost;
    case "agents":
      if (second !== undefined) return lost;
      return { name: "agents", ...(first !== undefined && first !== "" && { agent: first }), query };
    default:
      return lost;
  }
}

/** The fragment of a place: an address that shows the same to everybody. */
export function toFragment(place: ConsolePlace): string {
  return `#/${toPath(place)}${toSearch(place.query)}`;
}

/** The place with some settings changed; an empty one is left out. */
export function withQuery<Kind extends ConsolePlace>(
  place: Kind,
  changes: Readonly<Record<string, string | undefined>>,
): Kind {
  const all = Object.entries({ ...place.query, ...changes });
  const query = Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== ""));
  return { ...place, query };
}

function toPath(place: ConsolePlace): string {
  switch (place.name) {
    case "overview":
      return "";
    case "runs":
    case "inbox":
    case "actors":
    case "statistics":
    case "audit":
    case "api":
    case "health":
      return place.name;
    case "run": {
      const base = `runs/${encodeURIComponent(place.runId)}`;
      return place.tab === "chat" ? base : `${base}/${place.tab}`;
    }
    case "compare":
      return `compare/${encodeURIComponent(place.a)}/${encodeURIComponent(place.b)}`;
    case "agents":
      return place.agent === undefined ? "agents" : `agents/${encodeURIComponent(place.agent)}`;
    case "lost":
      return place.path;
    default: {
      const never: never = place;
      return never;
    }
  }
}

function toSearch(query: PlaceQuery): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? "" : `?${text}`;
}

/** A part of the path; one that is not encoded properly is taken as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
