"""What must hold, as data: every threat and promise by its id, in one sentence, with the reason where it is not tested yet.

``tests/unit/test_requirements.py`` checks it both ways: each entry has a test that names it (``@pytest.mark.requirement``) or a
reason, and each attack test names an entry.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that must hold. ``deferred`` says why no test proves it yet."""

    id: str
    source: str
    sentence: str
    deferred: str | None = None


_GUARD = "belongs to the doors, which hand results to a model"


def _threat(number: int, sentence: str, deferred: str | None = None) -> Requirement:
    return Requirement(f"T{number}", "threat model", sentence, deferred)


REQUIREMENTS = (
    _threat(1, "no trick of the language reaches an object or a file of the host"),
    _threat(2, "an interpreter that crashes is an outcome, and the gateway goes on"),
    _threat(3, "host files and other workspaces can be neither read nor changed"),
    _threat(4, "the environment of the gateway and of its launcher cannot be read"),
    _threat(5, "a run has the descriptors, capabilities, mounts and namespaces that are listed, and no others"),
    _threat(6, "no device, mount, chroot or set-uid trick works"),
    _threat(7, "code that the runtime will load cannot be changed or shadowed"),
    _threat(8, "what a run leaves in its workspace does not lead the host astray"),
    _threat(9, "no network of any family can be reached by any call"),
    _threat(10, "there is no general egress whose allow-list could be bypassed"),
    _threat(11, "processes of the host cannot be seen, signalled, limited or debugged"),
    _threat(12, "nothing survives the end of a run or of the gateway"),
    _threat(13, "every system call is answered as the policy file says; other gates are death"),
    _threat(14, "memory of the whole run is limited, whatever kind of memory it is"),
    _threat(15, "wall clock and CPU time are limited by the host, whatever the code does"),
    _threat(16, "processes, descriptors, files and bytes on disk are limited"),
    _threat(17, "output floods are cut, said to be, and hurt nobody"),
    _threat(18, "limits cannot be shed"),
    _threat(19, "forged frames and name tricks reach no tool"),
    _threat(20, "no bytes on the channel break, block or fill the host"),
    _threat(21, "replays, floods and calls after the end change nothing"),
    _threat(22, "a run cannot speak for another: identity is the channel"),
    _threat(23, "nothing that a guest sends is unpickled or evaluated"),
    _threat(24, "arguments are validated against the tool's schema before they leave"),
    _threat(25, "status, limits, counts and isolation are the host's findings, not the guest's words"),
    _threat(26, "nothing of one run is there for the next"),
    _threat(27, "the template cannot be touched or poisoned"),
    _threat(28, "nothing in a workspace runs on the host or at the start of a later run"),
    _threat(29, "no credential is in the environment, arguments, errors, memory or dumps of a run"),
    _threat(30, "personal data is tokenised before it enters the sandbox"),
    _threat(31, "data of one tool cannot be sent with another against a flow rule"),
    _threat(32, "audit records cannot be forged from inside"),
    _threat(33, "control characters and markup in output are harmless where they are shown"),
    _threat(34, "hostile tool definitions never become code"),
    _threat(35, "hostile tool names never become paths"),
    _threat(36, "hostile schemas cost neither time nor network"),
    _threat(37, "catalogue floods and misbehaving servers are bounded"),
    _threat(38, "a changed or shadowing definition is noticed"),
    _threat(39, "tool results reach the model only as marked, capped values"),
    _threat(40, "servers cannot phish for tokens or make the gateway fetch addresses"),
    _threat(41, "a confined stdio server reaches nothing of the host but what its profile names, or is not started"),
    _threat(42, "no HTTP request works without a token"),
    _threat(43, "a web page cannot drive a local gateway"),
    _threat(44, "hostile HTTP is refused within bounds"),
    _threat(45, "one tenant's load does not starve another"),
    _threat(46, "one tenant's things are invisible to another"),
    _threat(47, "commands and addresses cannot be configured through the API"),
    _threat(48, "an approval counts once, for what was approved; whoever asked does not decide, and nobody is asked without end"),
    _threat(49, "a lost or edited audit record is noticed"),
    _threat(50, "where the promised isolation cannot be had nothing runs, and the lack and the remedy are named"),
    _threat(51, "weakening options are loud and recorded", "there is no such option yet"),
    _threat(52, "dependencies are few, pinned and listed", "belongs to the release process"),
    _threat(53, "programs of the kind models write are not refused"),
    _threat(54, "when a run ends, none of its calls can leave any more, whatever ids the guest gave them"),
    _threat(55, "every frame is bound to its run: what was written for one execution never counts for another"),
    _threat(56, "every wait for a guest ends within the limits of the execution that waits"),
    _threat(57, "between two executions a session uses no CPU at all"),
    _threat(58, "in whatever state a program leaves its session, the next program works or is told what was lost"),
    _threat(59, "a call that the program gives up is left behind at once, is on record, and cannot change the outcome later"),
    _threat(60, "cpu_seconds counts the time of one run, also in a session, and all of it"),
    _threat(61, "a frame may be as long as the limits allow, and no longer"),
    _threat(62, "what Python does outside the sandbox it does inside, apart from what is listed with a reason"),
    _threat(70, "names of tools that code invents are recorded as unknown, and kept nowhere"),
    _threat(71, "the class of an error, which code names, is short and on one line wherever it is kept"),
    _threat(72, "an outcome has a form of its output and error that steers no terminal"),
    _threat(74, "errors bring neither a credential nor a folder of the gateway to code or to callers, in any mode of the mask"),
    _threat(75, "a state folder that is written as a relative path works everywhere"),
    _threat(76, "a confined server sets no set-uid or set-gid bit, and opens no file to others for writing"),
    _threat(77, "importing servers copies no secret into a file, wherever it stands, and others cannot read the file"),
    _threat(78, "a confined server of a gateway that runs as root is another user, where that user can use what it needs"),
    _threat(79, "depth, integers, counts and names of all that a guest sends are bounded where it enters"),
    _threat(80, "no two sessions have one folder, and a folder is opened for its owner alone"),
    _threat(81, "a start removes the control groups of gateways that were killed, and of no living one"),
    _threat(82, "space on disk cannot be taken without writing it"),
    _threat(83, "files without a name, and bursts between two looks, count for the workspace limit"),
    _threat(84, "a workspace fits its limit again after the run that exceeded it"),
    _threat(85, "an approval covers the part of an earlier result that its plan names, and no letters of a text"),
    _threat(86, "no plan holds arguments that its approvers cannot be shown"),
    _threat(87, "at the landlock level without cgroups a program with more threads than processes allows is ended"),
    _threat(88, "looking for names near to invented ones holds up no other caller"),
    _threat(90, "no API document, path or parameter sends a credential to another host or replaces a header of ours"),
    _threat(91, "no call is allowed because of a definition that its server has not confirmed in this process and connection"),
    _threat(
        92, "with full masks no byte of a file enters the sandbox unsearched, unless the operator lets the tool's files pass"
    ),
    _threat(
        93, "what is read out of a workspace or a skill is masked for models, and for people without the right to real values"
    ),
    _threat(94, "flow rules hold for values that came in a file, an error, a skill or another session's files"),
    _threat(95, "no call is approved with all the others unless its arguments were shown whole"),
    _threat(110, "a request that another program could read otherwise is refused, and its connection is closed"),
    _threat(111, "a login goes to no internal address, in no form of writing it, and not without TLS where the server uses TLS"),
    _threat(
        116,
        "no limit loses an outcome; results without a session take no sessions, and a tenant's bytes are limited as it fills them",
    ),
    _threat(112, "a secret argument is not sent in a header, whatever the tool server asks"),
    _threat(113, "slow and silent HTTP clients hold no place for good, and probes are answered through any crowd"),
    _threat(
        114, "readiness says the truth, every signal to end leaves records, and outcomes outlive the process whatever their size"
    ),
    _threat(115, "with few descriptors executions run or are told to come again, nothing leaks, and no log fills"),
    _threat(150, "an answer with too many values is refused before it is parsed, large ones are parsed off the event loop"),
    _threat(151, "what is nested too deeply fails its own call at once, or leaves out its own tool"),
    _threat(153, "a notification or question of a server that exceeds the limits is dropped, and its connection stays"),
    _threat(152, "a state folder that cannot be written is an error at once at every door"),
    _threat(
        170, "an Idempotency-Key gets the kept outcome, or the truth that its execution still runs, also when the store failed"
    ),
    _threat(171, "two processes never execute the same Idempotency-Key, also between a claim and its record"),
    _threat(172, "whenever the service is killed, each promised program ends, each write is made once, and nothing is left over"),
    _threat(173, "a database that restarts or a lack of processes is told, and what was refused runs once afterwards"),
    _threat(180, "the jail holds a program in TypeScript without the help of Deno's own permissions"),
    _threat(181, "without its compiler no page of V8 is ever writable and executable"),
    Requirement("P4", "issue 2", "a run ends at its limits and leaves nothing running, even when the host is killed"),
    Requirement("P5", "issue 2", "without a session every execution is fresh"),
    Requirement("P6", "issue 4", "writes approved in one decision are made once each, even when the gateway is killed half-way"),
    Requirement("P7", "issue 4", "whatever fails, no call is lost, doubled or left undecided without saying so"),
    Requirement("P8", "issue 4", "all writes of a run are one question, and where the plan cannot go on it says so"),
    Requirement("P9", "issue 4", "a mended program goes on without repeating a call that succeeded"),
    Requirement("P10", "issue 4", "one program joins what several servers know"),
    Requirement("P11", "issue 5", "ten thousand rows are filtered for less than a hundredth of their tokens"),
    Requirement("P12", "issue 5", "a result of 20 MB is used whole by the next execution and never enters the context"),
    Requirement("P13", "issue 5", "full, read-only or locked, the store loses nothing acknowledged and says what is wrong"),
    Requirement("P14", "issue 5", "a gateway killed under load keeps what it acknowledged, in a chain that is whole"),
    Requirement("P15", "issue 5", "a skill saved in one session is found and used in another after a restart"),
    Requirement("P16", "issue 5", "the gateway does the same on SQLite and on PostgreSQL"),
    _threat(130, "a session deleted through one process is gone in every other, and is shown as being deleted until it is"),
    _threat(131, "a name that is opened anew starts empty, whichever process and whichever caller opens it"),
    _threat(132, "of several that take one session name at the same time, one gets it"),
    _threat(133, "a listing or search of skills reads no source, and one row for each skill"),
    _threat(134, "what a tenant can fill has a limit of bytes for the tenant, which no other tenant pays for"),
    _threat(135, "a tenant that opens many sessions drops its own interpreters, and none of another tenant"),
    _threat(136, "a clock that jumps forward or back deletes no session, file or plan, and raises an alert"),
    _threat(137, "a result that is too long is kept for a short time and takes no place of a session"),
    _threat(138, "the disk of a tenant's sessions is limited as it fills, not once a day"),
    _threat(139, "what a process remembers of sessions, tenants and callers does not grow without limit"),
    Requirement("U1", "upgrades", "a state folder of an older release is opened with all that is in it; a newer one is refused"),
    Requirement("U2", "upgrades", "a migration that fails, is killed or has no room for a copy leaves the store as it was"),
    Requirement(
        "U3", "upgrades", "a record of another version is never misread, and a resume repeats no write that is on record"
    ),
    Requirement(
        "M1",
        "issue 6",
        "the surface is two tools of at most 400 tokens, whatever the number of servers, and the same bytes at every start",
    ),
    Requirement("M2", "issue 6", "a client that vanishes leaves no sandbox after a second, and a whole journal"),
    Requirement("M3", "issue 6", "ten real servers at once: search, join, write, approve, resume, restart, go on"),
    Requirement(
        "M4",
        "issue 6",
        "a session handle belongs to its caller and tenant, says how long it is kept, and ends with a clear error",
    ),
    Requirement(
        "M5", "issue 6", "what a tool server asks in the middle of a call is put to the person behind the client, in both eras"
    ),
    Requirement("M6", "issue 6", "a direct call passes every layer that a call from code passes"),
    Requirement(
        "M7", "issue 6", "malformed, huge and cancelled messages are answered as the protocol says, and the next one is served"
    ),
    Requirement(
        "M8",
        "issue 6",
        "a long run is a task for clients that have tasks, in both eras, owned by its caller, and for nobody else",
    ),
    Requirement(
        "L1", "LangChain", "a plan that was approved is applied once, also if the process is killed and another one resumes"
    ),
    Requirement(
        "L2", "LangChain", "calls that ask raise one interrupt with the whole plan, and only a clear yes applies anything"
    ),
    Requirement("L3", "LangChain", "plain tools that programs call pass the agent's own tool middleware and our policy"),
    Requirement("L4", "LangChain", "the standard suites for tools pass, none skipped"),
)
