import http from 'node:http'
import https from 'node:https'
import { isIPv6 } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { Target } from './address.ts'
import { openGate } from './gate.ts'
import { TIMED_OUT, Trouble, UNSENT } from './trouble.ts'

export type Sent = {
  readonly body?: object
  readonly bearer?: string | undefined
  /** For what lasts longer than other requests may, in milliseconds. */
  readonly timeoutMs?: number
}
export type Answer = { readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly text: string }

/** HTTP to one market. Every request ends: by an answer, or as Trouble when its time is over. */
export type Client = {
  /**
   * It waits for a connection as long as for its answer at most, and the two times are counted apart.
   * @throws Trouble where no whole answer came; any HTTP status is an answer
   */
  send(method: 'GET' | 'POST', path: string, sent?: Sent): Promise<Answer>
  close(): void
}

export type ClientOptions = {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly connections?: number
  /** How long a request waited until one of the client's own connections was free, and whether it has left by it. */
  readonly waited?: (ms: number, hasLeft: boolean) => void
}

/** Requests that are under way at once. Further ones wait here, where it can be seen that they wait. */
export const CONNECTIONS = 256
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Redirects are answers here and never followed, so no other host is ever asked. */
export function openClient({ url, addresses }: Target, options: ClientOptions): Client {
  const { timeoutMs, signal, connections = CONNECTIONS, waited = () => undefined } = options
  const module = url.protocol === 'https:' ? https : http
  const agent = new module.Agent({ keepAlive: true, maxSockets: connections, lookup: pinned(addresses) })
  const gate = openGate(connections)
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  const within = (ms: number): AbortSignal => AbortSignal.any([signal, AbortSignal.timeout(ms)])
  /** The place at the gate is free again when the connection is, whatever became of the request. */
  const exchange: Client['send'] = (method, path, { body, bearer, timeoutMs: patienceMs = timeoutMs } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const text = body && JSON.stringify(body)
      const fail = (error: Error): void => reject(troubleOf(error, signal))
      const headers = {
        accept: 'application/json, text/html',
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      }
      const request = module.request(`${base}${path}`, { method, agent, headers, signal: within(patienceMs) }, (response) => {
        read(response).then(resolve, fail)
      })
      request.once('close', gate.leave).on('error', fail).end(text)
    })
  return {
    async send(method, path, sent = {}) {
      if (gate.tryEnter()) {
        waited(0, true)
        return exchange(method, path, sent)
      }
      const askedAt = performance.now()
      const hasLeft = await gate.enter(within(sent.timeoutMs ?? timeoutMs))
      if (!hasLeft && signal.aborted) throw stopped()
      waited(performance.now() - askedAt, hasLeft)
      if (!hasLeft) throw new Trouble(UNSENT, `none of the ${connections} connections of this program was free in time`)
      return exchange(method, path, sent)
    },
    close: () => agent.destroy(),
  }
}

/** The addresses that were looked at, whatever the name stands for by now. */
const pinned =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
    const [first] = found
    if (all) callback(null, found)
    else callback(null, first?.address ?? '', first?.family)
  }

async function read(response: http.IncomingMessage): Promise<Answer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    // no encoding is set
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) throw new Trouble('too large', `the answer is larger than ${MAX_BODY_BYTES} bytes`)
    parts.push(part)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() }
}

function troubleOf(error: Error & { code?: string; cause?: unknown }, signal: AbortSignal): Trouble {
  if (error instanceof Trouble) return error
  if (signal.aborted) return stopped()
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return new Trouble(TIMED_OUT, 'no answer came in time')
  return new Trouble(error.code ?? error.name, error.message)
}

const stopped = (): Trouble => new Trouble('stopped', 'the run was ended')
