// The token of this tab. It is kept in sessionStorage, so closing the tab deletes it.

const KEY = "gristmill.token";

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (text: string) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY)),
};

/** `call` is run when the service asks for a token, or for another one. The shell replaces it. */
export const onUnauthorized = { call: () => {} };
