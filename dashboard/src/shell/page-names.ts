/** The pages of the navigation: the first word of the address, and the title. */
export const PAGES = [
  ["", "Now"],
  ["executions", "Executions"],
  ["approvals", "Approvals"],
  ["chat", "Chat"],
  ["playground", "Playground"],
  ["tools", "Tools"],
  ["sessions", "Sessions"],
  ["skills", "Skills"],
  ["audit", "Audit"],
] as const;
