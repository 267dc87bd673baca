import type { RunId } from "../../protocol/ids.ts";

/** Keeps the run of a conversation, so that a page that is opened again shows it. */
export interface RunMemory {
  /** The run; `undefined` if there is none. */
  read(): RunId | undefined;
  /** Keeps a run, or forgets it. */
  write(runId: RunId | undefined): void;
}

/** The parts of a browser that remember something. */
type Browser = Partial<{
  readonly location: { readonly href: string };
  readonly history: {
    readonly state: unknown;
    replaceState(state: unknown, title: string, url: string): void;
  };
  readonly localStorage: {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
  };
}>;

/** Remembers the run in the address of the page, as the query parameter `name`: a link to the page shows the same run. */
export function addressMemory(name: string = "run"): RunMemory {
  const { location, history } = globalThis as Browser;
  return {
    read: () => (location && new URL(location.href).searchParams.get(name)) ?? undefined,
    write(runId) {
      if (location === undefined || history === undefined) return;
      const address = new URL(location.href);
      if (runId === undefined) address.searchParams.delete(name);
      else address.searchParams.set(name, runId);
      // An equal address is not set again: routers listen to it.
      if (address.href !== location.href) history.replaceState(history.state, "", address.href);
    },
  };
}

/** Remembers the run in the local storage of the browser, as the item `name`: all tabs of the site have it. */
export function storageMemory(name: string): RunMemory {
  /** A browser can refuse its storage; the run is then not remembered. */
  const use = <Result>(
    action: (storage: NonNullable<Browser["localStorage"]>) => Result,
  ): Result | undefined => {
    try {
      const { localStorage } = globalThis as Browser;
      return localStorage && action(localStorage);
    } catch {
      return undefined;
    }
  };
  return {
    read: () => use((storage) => storage.getItem(name)) ?? undefined,
    write: (runId) =>
      use((storage) => (runId === undefined ? storage.removeItem(name) : storage.setItem(name, runId))),
  };
}
