// Moves the focus to the beginning of the page.

export const focusMain = (how?: FocusOptions) => document.getElementById("main")?.focus(how);
