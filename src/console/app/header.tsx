import type { VNode } from "preact";
import { useState } from "preact/hooks";
import icon from "../icon.svg";
import { endSession, useSignedIn } from "../data/signed-in.ts";
import type { ConsolePlace } from "../places/place.ts";
import { useConsole } from "./context.ts";

interface HeaderProps {
  readonly isLost: boolean;
  /** How many questions are open and turns are held, as it is shown. */
  readonly inboxCount: string;
}

/** The bar at the top: the places, the connection, the theme. */
export function Header({ isLost, inboxCount }: HeaderProps): VNode {
  const { place } = useConsole();
  return (
    <header class="bar">
      <a class="mark" href="#/" aria-label="troupe">
        <img src={icon} alt="" />
        <span>troupe</span>
      </a>
      <nav class="nav" aria-label="Places">
        {PLACES.map((link) => (
          <PlaceAnchor key={link.name} {...link} inboxCount={inboxCount} />
        ))}
        <details class="more" key={place.name}>
          <summary aria-label="More places">⋯</summary>
          <div class="more-list">
            {PLACES.filter(({ isMinor }) => isMinor).map((link) => (
              <PlaceAnchor key={link.name} {...link} isMinor={false} inboxCount="0" />
            ))}
          </div>
        </details>
      </nav>
      <div class="end">
        <span class={`connection ${isLost ? "lost" : "live"}`} role="status">
          <span aria-hidden="true">{isLost ? "✕ " : "● "}</span>
          <span class="word">{isLost ? "No connection" : "connected"}</span>
        </span>
        <SessionPart />
        <ThemeButton />
      </div>
    </header>
  );
}

/** Who has signed in, and the way out. */
function SessionPart(): VNode | null {
  const { server, say } = useConsole();
  const session = useSignedIn(server);
  if (session === undefined) return null;
  const { name, owner, canEnd } = session;
  return (
    <details class="session">
      <summary aria-label={`Signed in as ${name}`}>{name}</summary>
      <div class="more-list">
        <p class="second">
          Signed in as {name}, for {owner}
        </p>
        {canEnd && (
          <button
            type="button"
            class="button small"
            onClick={() => {
              endSession(server).catch(() => say("The server did not end the session; try again."));
            }}
          >
            Sign out
          </button>
        )}
      </div>
    </details>
  );
}

interface PlaceLink {
  readonly name: string;
  readonly label: string;
  /** The places that the link is marked for. */
  readonly holds: readonly ConsolePlace["name"][];
  /** Whether the link is only in a menu where there is little room. */
  readonly isMinor: boolean;
}

function PlaceAnchor({
  name,
  label,
  holds,
  isMinor,
  inboxCount,
}: PlaceLink & Pick<HeaderProps, "inboxCount">): VNode {
  const { place } = useConsole();
  return (
    <a
      href={`#/${name}`}
      class={isMinor ? "minor" : undefined}
      aria-current={holds.includes(place.name) ? "page" : undefined}
    >
      {label}
      {name === "inbox" && inboxCount !== "0" && <span class="pill">{inboxCount}</span>}
    </a>
  );
}

const PLACES: readonly PlaceLink[] = [
  { name: "", label: "Overview", holds: ["overview"], isMinor: true },
  { name: "runs", label: "Runs", holds: ["runs", "run", "compare"], isMinor: false },
  { name: "agents", label: "Agents", holds: ["agents"], isMinor: false },
  { name: "actors", label: "Actors", holds: ["actors"], isMinor: true },
  { name: "inbox", label: "Inbox", holds: ["inbox"], isMinor: false },
  { name: "statistics", label: "Statistics", holds: ["statistics"], isMinor: true },
  { name: "audit", label: "Audit", holds: ["audit"], isMinor: true },
  { name: "api", label: "API", holds: ["api"], isMinor: true },
  { name: "health", label: "Health", holds: ["health"], isMinor: true },
];

function ThemeButton(): VNode {
  const [theme, show] = useState(readTheme);
  const change = (): void => {
    const next = nextTheme(theme);
    setTheme(next);
    show(next);
  };
  return (
    <button type="button" class="button quiet small" title={`Theme: ${theme}`} onClick={change}>
      <span aria-hidden="true">{THEME_SIGNS[theme]}</span>
      <span class="only-read">Theme: {theme}</span>
    </button>
  );
}

const THEME_SIGNS = { system: "◐", light: "○", dark: "●" } as const;

/** The theme of the page: that of the system, unless the person chose one. */
type Theme = "system" | "light" | "dark";

const NAME = "troupe-theme";

function readTheme(): Theme {
  const kept = localStorage.getItem(NAME);
  return kept === "light" || kept === "dark" ? kept : "system";
}

/** Shows the page in a theme and keeps the choice. */
function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, theme);
  applyTheme(theme);
}

function applyTheme(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** The theme that follows in the order in which the button changes it. */
function nextTheme(theme: Theme): Theme {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const order: readonly Theme[] = isDark ? ["system", "light", "dark"] : ["system", "dark", "light"];
  return order[(order.indexOf(theme) + 1) % order.length] ?? "system";
}

applyTheme(readTheme());
