// Refreshes the page of an order. The server renders everything, so that a change is shown by loading the same page again.

const POLL_MS = 5000
const live = document.getElementById('live')
// The address of this page, which also a refused form shows.
const page = new URL(live.dataset.page, location.href).href
const announcement = document.getElementById('announcement')
let shown = live.innerHTML
let loading = null
let isReloadRequested = false

document.documentElement.classList.add('js')
dress()
setInterval(count, 1000)
if (live.dataset.final !== 'true') follow()

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
      try {
        const response = await fetch(page, { headers: { accept: 'text/html' }, cache: 'no-store' })
        if (response.ok) show(new DOMParser().parseFromString(await response.text(), 'text/html'))
      } catch {
        // The connection failed; the next event or the next poll tries again.
      }
    }
    loading = null
  })()
  await loading
}

function show(loaded) {
  const fresh = loaded.getElementById('live')
  if (!fresh || fresh.innerHTML === shown) return
  const focused = document.activeElement?.id
  shown = fresh.innerHTML
  live.innerHTML = shown
  document.title = loaded.title
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
    const sameDay = at.toDateString() === new Date().toDateString()
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

function count() {
  const element = live.querySelector('[data-countdown]')
  if (!element) return
  const left = Math.max(0, Math.ceil((Number(element.dataset.countdown) - Date.now()) / 1000))
  const two = (number) => String(number).padStart(2, '0')
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60]
  element.textContent = `in ${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(seconds)},`
  element.classList.toggle('soon', left < 60)
  if (left === 0 && !element.dataset.over) {
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

/** Follows changes by server-sent events. If the stream is refused, the page is loaded again every few seconds. */
function follow() {
  if (!('EventSource' in globalThis)) return poll()
  const source = new EventSource(`${page}/events`)
  source.addEventListener('open', () => connected(true))
  source.addEventListener('changed', () => void refresh())
  source.addEventListener('final', () => {
    source.close()
    connected(false)
    void refresh()
  })
  source.addEventListener('error', () => {
    connected(false)
    // A browser opens an interrupted stream again by itself, but not a refused stream.
    if (source.readyState === EventSource.CLOSED) poll()
  })
}

function poll() {
  const timer = setInterval(async () => {
    await refresh()
    if (live.dataset.final === 'true') clearInterval(timer)
  }, POLL_MS)
}

function connected(isConnected) {
  const mark = document.querySelector('[data-connection]')
  if (mark) mark.hidden = !isConnected
}
