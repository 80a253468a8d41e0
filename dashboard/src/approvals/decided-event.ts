/** The name of a window event: a plan was decided, so the number of waiting plans has changed. */
export const DECIDED = "gristmill:decided";
