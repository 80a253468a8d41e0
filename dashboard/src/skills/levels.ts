/** Who can use a skill of each level. */
const LEVELS: Record<string, string> = { session: "one session", user: "its caller", shared: "the whole tenant" };

export const describeLevel = (level: string) => LEVELS[level] || level;
