import { Chat } from "./chat.jsx";

// A server component: what is below it is rendered on the server too, and works in the browser.
export default function Page() {
  return (
    <main>
      <h1>Payments</h1>
      <Chat />
    </main>
  );
}
