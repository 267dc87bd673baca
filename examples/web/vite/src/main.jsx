import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "troupe/client";
import { useAgent } from "troupe/react";
import { ConversationPane } from "troupe/react/ui";
import "troupe/react/ui/style.css";

const agent = createClient(`${location.origin}/agents`).agent("payments");

function Payments() {
  return <ConversationPane conversation={useAgent(agent, { remember: "address" })} />;
}

function Page() {
  const [isShown, setIsShown] = useState(true);
  return (
    <>
      <h1>Payments</h1>
      <button type="button" onClick={() => setIsShown(!isShown)}>
        {isShown ? "Hide" : "Show"}
      </button>
      {isShown && <Payments />}
    </>
  );
}

createRoot(document.querySelector("#root")).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
