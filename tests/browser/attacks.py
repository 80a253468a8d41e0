"""What a page can try against a service on the same machine, as functions of the page; each tells what it learned, or null.

Those named simple are sent by a browser without asking first, so nothing but the service itself can refuse them.
"""

_SEND = """async ([aim]) => {
  try {
    const answer = await fetch(%s, %s)
    return answer.ok ? await answer.text() : null
  } catch { return null }
}"""
_FORM = """async ([aim]) => {
  const frame = document.createElement('iframe')
  frame.name = 'sink' + Math.random()
  document.body.append(frame)
  const form = document.createElement('form')
  Object.assign(form, {action: aim.base + '%s', method: 'POST', enctype: '%s', target: frame.name})
  const field = document.createElement('textarea')
  Object.assign(field, {name: %s, value: %s})
  form.append(field)
  document.body.append(form)
  await new Promise(done => { frame.onload = done; form.submit() })
  return null
}"""
_TAG = """async ([aim]) => {
  const tag = document.createElement('%s')
  const loaded = new Promise(done => { tag.onload = () => done('loaded'); tag.onerror = () => done(null) })
  tag.src = aim.base + '/executions'
  document.body.append(tag)
  return await loaded
}"""
_BEACON = """async ([aim]) => {
  const seen = new Promise(done => new PerformanceObserver((list, all) => {
    if (list.getEntries().some(one => one.initiatorType === 'beacon')) { all.disconnect(); done() }
  }).observe({type: 'resource', buffered: true}))
  navigator.sendBeacon(aim.base + '/execute', new Blob(['{"code": "1"}'], {type: 'text/plain'}))
  await seen
  return null
}"""
_SOCKET = """async ([aim]) => await new Promise(done => {
  const socket = new WebSocket(aim.base.replace('http', 'ws') + '/ws')
  socket.onopen = () => socket.send(JSON.stringify({type: 'execute', code: '1 + 1'}))
  socket.onmessage = message => done(message.data)
  socket.onerror = () => done(null)
})"""
_EVENTS = """async ([aim]) => await new Promise(done => {
  const source = new EventSource(aim.base + '/executions/' + aim.execution + '/events')
  for (const kind of ['open', 'message']) source.addEventListener(kind, () => { source.close(); done('heard') })
  source.onerror = () => { source.close(); done(null) }
})"""
_MCP = """async ([aim]) => {
  const params = {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'page', version: '1'}}
  try {
    const answer = await fetch(aim.base + '/mcp', {
      method: 'POST', %s
      body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'initialize', params}),
    })
    return answer.ok ? await answer.text() : null
  } catch { return null }
}"""

_JSON = "headers: {'content-type': 'application/json'}"
_PLAIN = "mode: 'no-cors', headers: {'content-type': 'text/plain'}"
_CODE = "body: JSON.stringify({code: '1 + 1'})"
_YES = "body: JSON.stringify({approve: 'all'})"

ATTACKS = {
    "execute, as JSON": _SEND % ("aim.base + '/execute'", f"{{method: 'POST', {_JSON}, {_CODE}}}"),
    "execute, simple": _SEND % ("aim.base + '/execute'", f"{{method: 'POST', {_PLAIN}, {_CODE}}}"),
    "execute, simple and with cookies": _SEND
    % ("aim.base + '/execute'", f"{{method: 'POST', credentials: 'include', keepalive: true, {_PLAIN}, {_CODE}}}"),
    "execute, simple and sent on by a redirect": _SEND
    % ("aim.away + '?to=' + aim.base + '/execute'", f"{{method: 'POST', {_PLAIN}, {_CODE}}}"),
    "execute, by a simple beacon": _BEACON,
    "execute, by a simple form of plain text": _FORM
    % ("/execute", "text/plain", """'{"code": "1", "context": {"x": "'""", """'"}}'"""),
    "execute, by a simple form": _FORM % ("/execute", "application/x-www-form-urlencoded", "'code'", "'1'"),
    "execute, by a simple form with files": _FORM % ("/execute", "multipart/form-data", "'code'", "'1'"),
    "execute, by a socket": _SOCKET,
    "listen to an execution": _EVENTS,
    "read executions": _SEND % ("aim.base + '/executions'", "{}"),
    "read executions, by a simple script tag": _TAG % "script",
    "read executions, by a simple image": _TAG % "img",
    "write a file": _SEND % ("aim.base + '/sessions/default/files/x'", "{method: 'PUT', body: 'x'}"),
    "approve, as JSON": _SEND % ("aim.base + '/approvals/' + aim.approval", f"{{method: 'POST', {_JSON}, {_YES}}}"),
    "approve, simple": _SEND % ("aim.base + '/approvals/' + aim.approval", f"{{method: 'POST', {_PLAIN}, {_YES}}}"),
    "MCP, as JSON": _MCP % "headers: {'content-type': 'application/json', accept: 'application/json, text/event-stream'},",
    "MCP, simple": _MCP
    % "mode: 'no-cors', headers: {'content-type': 'text/plain', accept: 'application/json, text/event-stream'},",
}
FRAME = """async ([address]) => {
  const frame = document.createElement('iframe')
  const loaded = new Promise(done => { frame.onload = done })
  frame.src = address
  document.body.append(frame)
  await loaded
}"""
WORKING = (
    "execute, as JSON", "execute, by a socket", "listen to an execution", "read executions", "write a file", "MCP, as JSON",
)  # fmt: skip
"""What a page of our own may do."""
READS = 4
"""How many of them only read."""
UNSEEN = frozenset({
    "execute, as JSON", "approve, as JSON", "MCP, as JSON", "write a file", "execute, by a socket", "listen to an execution",
    "read executions", "read executions, by a simple script tag", "read executions, by a simple image",
})  # fmt: skip
"""Before some of these the browser asks, and is told no; of the others it shows to nobody what was answered."""
