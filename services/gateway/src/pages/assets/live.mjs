// Refreshes the page of an order. The server renders everything, so that a change is shown by loading the same page again.

const POLL_MS = 5000
/** The stream sends an event every 20 seconds at least. */
const SILENCE_MS = 45_000
const LOAD_TIMEOUT_MS = 10_000
const live = document.getElementById('live')
// The address of this page, which also a refused form shows.
const page = new URL(live.dataset.page, location.href).href
const announcement = document.getElementById('announcement')
let shown = live.innerHTML
let loading = null
let isReloadRequested = false
// Times of the monotonic clock.
let loadedAt = performance.now()
let heardAt = loadedAt
let source = null
let isStreaming = false
let isCurrent = true
// Differences to the monotonic clock: of the server's clock, and of the visitor's clock, which may be wrong.
let serverAhead = Number(live.dataset.now) - loadedAt
let visitorAhead = Date.now() - loadedAt

document.documentElement.classList.add('js')
dress()
openStream()
setInterval(check, 1000)
addEventListener('online', resume)
addEventListener('offline', () => setStreaming(false))
addEventListener('pagehide', closeStream)
addEventListener('pageshow', (event) => event.persisted && resume())
document.addEventListener('visibilitychange', () => (document.hidden ? closeStream() : resume()))

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-copy]')
  if (button) void copy(button)
})

/** Loads the page and shows its changes. A call during a load causes another load after it. */
async function refresh() {
  isReloadRequested = true
  loading ??= (async () => {
    while (isReloadRequested) {
      isReloadRequested = false
      isCurrent = await load()
      loadedAt = performance.now()
      mark()
    }
    loading = null
  })()
  await loading
}

/** @returns whether the page was loaded. A connection that has gone silent never ends, so there is a limit. */
async function load() {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), LOAD_TIMEOUT_MS)
  try {
    const response = await fetch(page, { headers: { accept: 'text/html' }, cache: 'no-store', signal: abort.signal })
    return response.ok && show(new DOMParser().parseFromString(await response.text(), 'text/html'))
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

/** @returns false if this is no page of an order, such as the page of a network that asks for a log-in */
function show(loaded) {
  const fresh = loaded.getElementById('live')
  if (!fresh) return false
  serverAhead = Number(fresh.dataset.now) - performance.now()
  if (fresh.innerHTML !== shown) replace(loaded.title, fresh)
  if (isFinal()) closeStream()
  return true
}

function replace(title, fresh) {
  const focused = document.activeElement?.id
  shown = fresh.innerHTML
  live.innerHTML = shown
  document.title = title
  if (live.dataset.status !== fresh.dataset.status) announcement.textContent = live.querySelector('h1').textContent
  Object.assign(live.dataset, { status: fresh.dataset.status, final: fresh.dataset.final })
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true })
  dress()
}

/** Shows the parts that need a script: local times, a countdown, buttons. */
function dress() {
  for (const element of document.querySelectorAll('.needs-js[hidden]:not([data-connection])')) element.hidden = false
  for (const time of live.querySelectorAll('time[data-local]')) {
    const at = new Date(time.dateTime)
    const sameDay = at.toDateString() === new Date(serverNow()).toDateString()
    const isExpiry = time.textContent.startsWith('at ')
    const text = at.toLocaleString(undefined, {
      timeStyle: sameDay && !isExpiry ? 'medium' : 'short',
      ...(!sameDay && { dateStyle: 'medium' }),
    })
    time.textContent = isExpiry ? `at ${text}` : text
    time.title = time.dateTime
  }
  count()
}

function serverNow() {
  return performance.now() + serverAhead
}

function count() {
  const element = live.querySelector('[data-countdown]')
  if (!element) return
  const left = Math.max(0, Math.ceil((Number(element.dataset.countdown) - serverNow()) / 1000))
  const two = (number) => String(number).padStart(2, '0')
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60]
  element.textContent = `in ${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(seconds)},`
  element.classList.toggle('soon', left < 60)
  if (left > 0) delete element.dataset.over
  else if (!element.dataset.over) {
    element.dataset.over = 'true'
    void refresh()
  }
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy)
  const label = button.textContent
  try {
    await navigator.clipboard.writeText(source.textContent)
    button.textContent = 'Copied'
  } catch {
    getSelection().selectAllChildren(source)
    button.textContent = 'Selected: copy it with your keyboard'
  }
  announcement.textContent = button.textContent
  setTimeout(() => (button.textContent = label), 2500)
}

/** A hidden tab holds no stream, because a browser opens only six connections to a host. */
function openStream() {
  heardAt = performance.now()
  if (isFinal() || document.hidden || !('EventSource' in globalThis)) return
  source = new EventSource(`${page}/events`)
  for (const name of ['changed', 'ping', 'final']) source.addEventListener(name, () => hear(name))
  // A browser opens an interrupted stream again by itself, but not a refused stream.
  source.addEventListener('error', () => setStreaming(false))
}

function closeStream() {
  source?.close()
  source = null
  setStreaming(false)
}

function hear(name) {
  heardAt = performance.now()
  setStreaming(true)
  if (name === 'final') closeStream()
  if (name !== 'ping') void refresh()
}

/** Opens the stream anew, because the old one may be dead without a sign, and loads what was missed. */
function resume() {
  if (isFinal()) return
  closeStream()
  void refresh()
  openStream()
}

/** Runs every second. Without a stream, the page is loaded again every few seconds. */
function check() {
  count()
  if (isFinal() || document.hidden) return
  const now = performance.now()
  if (hasSlept() || now - heardAt > SILENCE_MS) resume()
  else if (!(isStreaming && isCurrent) && now - loadedAt >= POLL_MS) void refresh()
}

/** The monotonic clock of some systems stands still while the machine sleeps, the other clock does not. */
function hasSlept() {
  const before = visitorAhead
  visitorAhead = Date.now() - performance.now()
  return Math.abs(visitorAhead - before) > 5000
}

function isFinal() {
  return live.dataset.final === 'true'
}

function setStreaming(value) {
  isStreaming = value
  mark()
}

/** Marks the page as live only if its stream was heard and the last load succeeded. */
function mark() {
  const element = document.querySelector('[data-connection]')
  if (element) element.hidden = !(isStreaming && isCurrent)
}
