// The cost of an event stream with the response of node:http.
import { streamTurns } from "../stream-turns.ts";

streamTurns((response) => ({
  write: (frames) => void response.write(frames),
  end: () => void response.end(),
}));
