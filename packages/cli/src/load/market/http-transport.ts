import http from 'node:http'
import https from 'node:https'
import { isIPv6, type LookupFunction } from 'node:net'
import type { MarketAddress } from './market-address.ts'
import { RequestError } from './request-error.ts'

export type OutgoingRequest = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Text is sent as it is, and an object as JSON. */
  readonly body?: object | string | undefined
  readonly bearer?: string | undefined
}
export type LoadResponse = { readonly status: number; readonly headers: http.IncomingHttpHeaders; readonly text: string }

/** Sends requests to one market. */
export type Transport = {
  /**
   * Sends a request at once. @param onClose called once, when the request has closed with or without an answer
   * @throws AbortError if the signal aborts, or the error of the connection
   */
  send(request: OutgoingRequest, signal: AbortSignal, onClose: () => void): Promise<LoadResponse>
  close(): void
}

const MAX_BODY_BYTES = 32 * 1024 * 1024

/** Redirects are never followed, so that no other host gets a request. */
export function openHttpTransport({ url, addresses }: MarketAddress, connections: number): Transport {
  const module = url.protocol === 'https:' ? https : http
  const agent = new module.Agent({ keepAlive: true, maxSockets: connections, lookup: pinLookup(addresses) })
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return {
    send: ({ method, path, body, bearer }, signal, onClose) =>
      new Promise<LoadResponse>((resolve, reject) => {
        const text = typeof body === 'object' ? JSON.stringify(body) : body
        const headers = {
          accept: 'application/json, text/html',
          ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        }
        const request = module.request(`${base}${path}`, { method, agent, headers, signal }, (response) => {
          readResponse(response).then(resolve, reject)
        })
        request.once('close', onClose).on('error', reject).end(text)
      }),
    close: () => agent.destroy(),
  }
}

/** Resolves the host to the checked addresses, even if its name has other addresses now. */
const pinLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, callback) => {
    const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))
    const [first] = found
    if (all) callback(null, found)
    else callback(null, first?.address ?? '', first?.family)
  }

async function readResponse(response: http.IncomingMessage): Promise<LoadResponse> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    // The cast is safe, because a response without an encoding consists of Buffers.
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) throw new RequestError('too large', `the answer is larger than ${MAX_BODY_BYTES} bytes`)
    parts.push(part)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() }
}
