"use client";
import { useState, useSyncExternalStore } from "react";
import { createClient } from "troupe/client";
import { useAgent } from "troupe/react";
import { ConversationPane } from "troupe/react/ui";

const never = () => () => {};

// The run is in the address of the page, which the server does not have, so the conversation begins in the browser.
export function Chat() {
  const isBrowser = useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
  const [isShown, setIsShown] = useState(true);
  return (
    <>
      <button type="button" onClick={() => setIsShown(!isShown)}>
        {isShown ? "Hide" : "Show"}
      </button>
      {isBrowser && isShown && <Payments />}
    </>
  );
}

function Payments() {
  const agent = createClient(`${location.origin}/agents`).agent("payments");
  return <ConversationPane conversation={useAgent(agent, { remember: "address" })} />;
}
