/**
 * The extension by which a message that is sent twice is taken once: its id is then the identity of the task that it begins, or of the
 * answer that it gives. Without it ids say nothing, since many clients use the same for all of their messages.
 */
export const REPEATS = "urn:troupe:a2a:repeated-messages";
