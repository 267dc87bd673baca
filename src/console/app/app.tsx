import type { VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { createPageServer } from "../data/page-server.ts";
import type { Reach } from "../data/page-server.ts";
import { countText } from "../data/counts.ts";
import { lazy } from "../parts/lazy.tsx";
import { Empty } from "../parts/empty.tsx";
import { parsePlace, toFragment } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";
import { useInbox } from "../data/inbox.ts";
import type { InboxSummary } from "../data/inbox.ts";
import { RunPlace } from "../run/run-place.tsx";
import { ConsoleContext, useConsole } from "./context.ts";
import type { Console } from "./context.ts";
import { Header } from "./header.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { forgetToken, keepToken, readToken, TokenGate } from "./token-gate.tsx";
import { useCountInTitle } from "../parts/hooks/title.ts";
import { clockTime } from "../parts/time.ts";

/** The whole page. `url` is the address of the server. */
export function App({ url }: { readonly url: string }): VNode {
  const [place, setPlace] = useState(() => parsePlace(location.hash));
  const [token, setToken] = useState(readToken);
  const [reach, setReach] = useState<Reach>({});
  const [toast, say] = useToast();
  const main = useRef<HTMLElement>(null);
  const server = useMemo(() => createPageServer(url, token, setReach), [url, token]);

  // Before the browser paints: an effect runs after it, and a place that is chosen in between would be lost.
  useLayoutEffect(() => {
    const read = (): void => setPlace(parsePlace(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);

  const go = useCallback((next: ConsolePlace, { replace = false }: { readonly replace?: boolean } = {}) => {
    const fragment = toFragment(next);
    if (replace) {
      history.replaceState(null, "", fragment);
      setPlace(next);
    } else location.hash = fragment;
  }, []);

  const inAll = useMemo((): Console => ({ server, place, go, say }), [server, place, go, say]);

  const inbox = useInbox(server);
  const count = inbox === undefined ? "0" : countText(inbox.count);
  useCountInTitle(count);

  // A place that opens gets the focus, so that the keyboard and a screen reader begin there.
  const opened = place.name + ("runId" in place ? place.runId : "") + ("agent" in place ? place.agent : "");
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) main.current?.querySelector("h1")?.focus();
    isFirst.current = false;
  }, [opened]);

  if (reach.needsToken !== undefined) {
    const enter = (given: string): void => {
      keepToken(given);
      setReach({});
      setToken(given);
    };
    if (reach.needsToken === "wrong") forgetToken();
    return <TokenGate isWrong={reach.needsToken === "wrong"} onToken={enter} />;
  }
  return (
    <ConsoleContext.Provider value={inAll}>
      <div class="shell">
        <Header isLost={reach.lostSince !== undefined} inboxCount={count} />
        <Shortcuts />
        <LostBand since={reach.lostSince} />
        <main class="place" ref={main}>
          <ShownPlace place={place} inbox={inbox} />
        </main>
        {toast !== undefined && (
          <div class="toast" role="status">
            {toast}
          </div>
        )}
      </div>
    </ConsoleContext.Provider>
  );
}

interface ShownPlaceProps {
  readonly place: ConsolePlace;
  readonly inbox: InboxSummary | undefined;
}

function ShownPlace({ place, inbox }: ShownPlaceProps): VNode {
  switch (place.name) {
    case "overview":
      return <OverviewPart inbox={inbox} />;
    case "runs":
      return <RunsPart place={place} />;
    case "run":
      return <RunPlace key={place.runId} place={place} />;
    case "inbox":
      return <InboxPart place={place} inbox={inbox} />;
    case "compare":
      return <ComparePart key={`${place.a} ${place.b}`} place={place} />;
    case "actors":
      return <ActorsPart place={place} />;
    case "statistics":
      return <StatisticsPart place={place} />;
    case "audit":
      return <AuditPart place={place} />;
    case "api":
      return <ApiPart />;
    case "health":
      return <HealthPart />;
    case "agents":
      return place.agent === undefined ? <AgentsPart /> : <AgentPart key={place.agent} agent={place.agent} />;
    case "lost":
      return (
        <Empty title="There is no such place">
          <p>The address has no place with the name {place.path}.</p>
          <p>
            <a href="#/runs">All runs →</a>
          </p>
        </Empty>
      );
    default: {
      const never: never = place;
      return never;
    }
  }
}

const OverviewPart = lazy(async () => (await import("../overview/overview-place.tsx")).OverviewPlace);
const RunsPart = lazy(async () => (await import("../runs/runs-place.tsx")).RunsPlace);
const InboxPart = lazy(async () => (await import("../inbox/inbox-place.tsx")).InboxPlace);
const AgentsPart = lazy(async () => (await import("../agents/agents-place.tsx")).AgentsPlace);
const ActorsPart = lazy(async () => (await import("../actors/actors-place.tsx")).ActorsPlace);
const ApiPart = lazy(async () => (await import("../api/api-place.tsx")).ApiPlace);
const AgentPart = lazy(async () => (await import("../agents/agent-place.tsx")).AgentPlace);
const StatisticsPart = lazy(async () => (await import("../statistics/statistics-place.tsx")).StatisticsPlace);
const AuditPart = lazy(async () => (await import("../audit/audit-place.tsx")).AuditTrailPlace);
const HealthPart = lazy(async () => (await import("../health/health-place.tsx")).HealthPlace);
const ComparePart = lazy(async () => (await import("../compare/compare-place.tsx")).ComparePlace);

/** A sentence that is shown for five seconds. */
function useToast(): [string | undefined, (sentence: string) => void] {
  const [sentence, setSentence] = useState<{ readonly text: string }>();
  useEffect(() => {
    if (sentence === undefined) return undefined;
    const timer = setTimeout(() => setSentence(undefined), TOAST_MS);
    return () => clearTimeout(timer);
  }, [sentence]);
  const say = useCallback((text: string) => setSentence({ text }), []);
  return [sentence?.text, say];
}

const TOAST_MS = 5_000;

/** Says that the server does not answer, and finds out when it answers again. */
function LostBand({ since }: { readonly since: number | undefined }): VNode {
  const { server } = useConsole();
  useEffect(() => {
    if (since === undefined) return undefined;
    const timer = setInterval(() => void server.ask("GET", "/healthz").catch(() => undefined), AGAIN_MS);
    return () => clearInterval(timer);
  }, [since, server]);
  return (
    <div role="status">
      {since !== undefined && (
        <div class="band lost">
          No connection since {clockTime(since)}. Nothing is lost: the log is on the server.
        </div>
      )}
    </div>
  );
}

const AGAIN_MS = 1_000;
