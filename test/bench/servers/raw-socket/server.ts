// The cost of an event stream whose chunks are written to the socket directly, without the work of Node's
// response per chunk: about the least that a server in JavaScript can do.
import { streamTurns } from "../stream-turns.ts";

streamTurns((response) => {
  response.flushHeaders();
  return {
    // The frames are ASCII.
    write: (frames) =>
      void response.socket?.write(`${frames.length.toString(16)}\r\n${frames}\r\n`, "latin1"),
    end: () => void response.end(),
  };
});
