// The shell: name, navigation, and the page that the address asks for.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import "./shown.js";
import { render } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, onUnauthorized } from "./api.js";
import { Failure, Header, Waits } from "./parts/basics.jsx";
import { Connection } from "./parts/connection.jsx";
import { to, useRoute } from "./route.js";
import { DECIDED, may, useLoad, Who } from "./state.js";
import { Approval, Approvals } from "./pages/approvals.jsx";
import { Audit } from "./pages/audit.jsx";
import { Execution } from "./pages/execution.jsx";
import { Executions } from "./pages/executions.jsx";
import { Overview } from "./pages/overview.jsx";
import { Playground } from "./pages/playground.jsx";
import { Server, Tool } from "./pages/server.jsx";
import { Session, Sessions } from "./pages/sessions.jsx";
import { Skill, Skills } from "./pages/skills.jsx";
import { Token } from "./pages/token.jsx";
import { Tools } from "./pages/tools.jsx";
import { zone } from "./words.js";

const NAV = [
  ["", "Now"],
  ["executions", "Executions"],
  ["approvals", "Approvals"],
  ["playground", "Playground"],
  ["tools", "Tools"],
  ["sessions", "Sessions"],
  ["skills", "Skills"],
  ["audit", "Audit"],
];

function page([first = "", second, third], who) {
  switch (first) {
    case "":
      // Whoever may only decide begins with what there is to decide.
      return may(who, "execute", "read", "admin") ? <Overview /> : <Approvals />;
    case "executions":
      return second ? <Execution key={second} id={second} /> : <Executions />;
    case "playground":
      return <Playground />;
    case "tools":
      return third ? <Tool server={second} name={third} /> : second ? <Server name={second} /> : <Tools />;
    case "sessions":
      return second ? <Session name={second} /> : <Sessions />;
    case "skills":
      return second ? <Skill key={second} name={second} /> : <Skills />;
    case "approvals":
      return second ? <Approval id={second} /> : <Approvals />;
    case "audit":
      return <Audit />;
    default:
      return (
        <>
          <Header title="There is no such page" />
          <p>
            <a href="#/">Begin at the beginning.</a>
          </p>
        </>
      );
  }
}

function App() {
  const route = useRoute();
  const [round, setRound] = useState(0);
  const [locked, setLocked] = useState(false);
  const moved = useRef(false);
  const who = useLoad((signal) => get("whoami", signal), [round]);
  const changed = useCallback(() => {
    setLocked(false);
    setRound((count) => count + 1);
  }, []);
  useEffect(() => {
    onUnauthorized.call = () => setLocked(true);
  }, []);
  useEffect(() => {
    if (moved.current) document.getElementById("main").focus({ preventScroll: true }); // a new page: read on from its beginning
    moved.current = true;
    scrollTo(0, 0);
  }, [route.join("/")]);
  const asks = locked || route[0] === "token";
  return (
    <Who.Provider value={who.value || null}>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main").focus();
        }}
      >
        Skip to the page
      </a>
      <Nav here={route[0] || ""} who={who.value} />
      <main id="main" tabIndex={-1}>
        <Connection />
        {asks ? (
          <Token key={round} needed={locked} changed={changed} />
        ) : who.value ? (
          <div key={round}>{page(route, who.value)}</div>
        ) : (
          <Unknown who={who} />
        )}
      </main>
    </Who.Provider>
  );
}

/** Before we know who we are: nothing can be shown. */
const Unknown = ({ who }) =>
  who.error ? (
    <>
      <Header title="Gristmill" tab="No answer" />
      <Failure error={who.error} again={who.again} />
    </>
  ) : (
    <Waits />
  );

function Nav({ here, who }) {
  const [open, setOpen] = useState(false);
  const menu = useRef(null);
  const close = () => setOpen(false);
  useEffect(() => {
    addEventListener("hashchange", close);
    return () => removeEventListener("hashchange", close);
  }, []);
  const keys = (event) => {
    if (event.key !== "Escape" || !open) return;
    close();
    menu.current.focus();
  };
  return (
    <header class="side" onKeyDown={keys}>
      <a class="name" href="#/" onClick={close}>
        Gristmill
      </a>
      <button type="button" class="menu plain" ref={menu} aria-expanded={open} aria-controls="nav" onClick={() => setOpen(!open)}>
        Menu
      </button>
      <nav id="nav" class={open ? "open" : ""} aria-label="Pages">
        <ul>
          {NAV.map(([name, title]) => (
            <li key={name}>
              <a href={name ? to(name) : "#/"} aria-current={here === name ? "page" : undefined} onClick={close}>
                {title} {name === "approvals" && who && <Waiting />}
              </a>
            </li>
          ))}
        </ul>
        {who && (
          <p class="who">
            <span>
              You are {who.name}, of the tenant {who.tenant}.
            </span>
            <a href={to("token")} onClick={close}>
              Change token
            </a>
            <span>
              version {who.version}, {who.isolation}
            </span>
            <span>Times are those of {zone}.</span>
          </p>
        )}
      </nav>
    </header>
  );
}

const COUNTED = 100; // plans that are counted: more are as good as many

/** How many plans wait, where it can be seen from every page. */
function Waiting() {
  const list = useLoad((signal) => get(`approvals?limit=${COUNTED}`, signal), [], { every: 10_000 });
  const waiting = list.value?.length;
  useEffect(() => {
    addEventListener(DECIDED, list.again);
    return () => removeEventListener(DECIDED, list.again);
  }, [list.again]);
  const told = waiting === COUNTED ? `${COUNTED}+` : waiting;
  return waiting ? (
    <span class="badge accent" aria-label={`${told} waiting`}>
      {told}
    </span>
  ) : null;
}

render(<App />, document.getElementById("app"));
