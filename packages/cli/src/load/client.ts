import http from 'node:http'
import https from 'node:https'
import { isIPv6 } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { Target } from './address.ts'
import { Trouble } from './trouble.ts'

export type Sent = {
  readonly body?: object
  readonly bearer?: string | undefined
  /** For what lasts longer than other requests may. */
  readonly timeoutMs?: number
}
export type Answer = { readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly text: string }

/** HTTP to one market. Every request ends: by an answer, or as Trouble when its time is over. */
export type Client = {
  /** @throws Trouble where no whole answer came; any HTTP status is an answer */
  send(method: 'GET' | 'POST', path: string, sent?: Sent): Promise<Answer>
  close(): void
}

export type ClientOptions = { readonly timeoutMs: number; readonly signal: AbortSignal }

const MAX_SOCKETS = 256
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Redirects are answers here and never followed, so no other host is ever asked. */
export function openClient({ url, addresses }: Target, { timeoutMs, signal }: ClientOptions): Client {
  const module = url.protocol === 'https:' ? https : http
  const agent = new module.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, lookup: pinned(addresses) })
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return {
    send: (method, path, { body, bearer, timeoutMs: patienceMs = timeoutMs } = {}) =>
      new Promise<Answer>((resolve, reject) => {
        const text = body && JSON.stringify(body)
        const end = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
        const fail = (error: Error): void => reject(troubleOf(error, signal))
        const headers = {
          accept: 'application/json, text/html',
          ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        }
        const request = module.request(`${base}${path}`, { method, agent, headers, signal: end }, (response) => {
          read(response).then(resolve, fail)
        })
        request.on('error', fail).end(text)
      }),
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
  if (signal.aborted) return new Trouble('stopped', 'the run was ended')
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return new Trouble('time-out', 'no answer came in time')
  return new Trouble(error.code ?? error.name, error.message)
}
