import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FuzzMarket } from './fuzz-market.ts'

/** The caller of a request; its credential is added when the request is sent. */
export type FuzzCaller = 'nobody' | 'stranger' | 'session' | 'order' | 'dashboard' | 'api' | 'seller' | 'operator'

/** One request. `kinds` names the kinds of values in it, which are counted. */
export type FuzzRequest = {
  readonly target: string
  readonly caller: FuzzCaller
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  /** Time over which the body is sent in pieces; it is sent at once if undefined. */
  readonly bodyTakesMs?: number
  readonly kinds: readonly string[]
}

export type FuzzResponse = {
  readonly status: number
  readonly type: string
  readonly text: string
  readonly tookMs: number
}

/**
 * No answer. The server refuses a large body or head without reading the rest, and closes the connection. A client that still
 * sends then does not receive the answer.
 */
export const NO_RESPONSE: FuzzResponse = { status: 0, type: '', text: '', tookMs: 0 }
const LARGE_BYTES = 60_000
const LARGE_PATH_BYTES = 15_000

// Each request has a separate connection, so that no other request can break the connection.
const agent = new Agent({ keepAlive: false })
const STREAM_BYTES = 200

/** @returns the answer, or the beginning of an endless stream @throws Error if the connection breaks or without an answer */
export function sendRequest(
  { host, port }: Pick<FuzzMarket, 'host' | 'port'>,
  fuzzRequest: FuzzRequest,
  authorization: string | undefined,
): Promise<FuzzResponse> {
  const startedAt = performance.now()
  const { method, path, body } = fuzzRequest
  const headers = { ...fuzzRequest.headers, ...(authorization !== undefined && { authorization }) }
  return new Promise((resolve, reject) => {
    const clientRequest = request({ host, port, agent, method, path, headers, timeout: 30_000 }, (response) => {
      readText(response).then((text) => {
        const type = response.headers['content-type'] ?? ''
        resolve({ status: response.statusCode ?? 0, type, text, tookMs: performance.now() - startedAt })
      }, reject)
    })
    clientRequest.on('timeout', () => clientRequest.destroy(new Error('no answer within 30 s')))
    clientRequest.on('error', (error: NodeJS.ErrnoException) => {
      const isCutOff = (error.code === 'EPIPE' || error.code === 'ECONNRESET') && isLarge(fuzzRequest)
      if (isCutOff) resolve(NO_RESPONSE)
      else reject(error)
    })
    if (fuzzRequest.bodyTakesMs === undefined) clientRequest.end(body)
    else sendSlowly(clientRequest, Buffer.from(body ?? ''), fuzzRequest.bodyTakesMs).catch(reject)
  })
}

const isLarge = ({ body, path }: FuzzRequest): boolean => (body?.length ?? 0) > LARGE_BYTES || path.length > LARGE_PATH_BYTES

const PIECE_COUNT = 30

/** Sends a body in pieces, with its length first or in chunks, as the headers require. */
async function sendSlowly(clientRequest: ClientRequest, body: Uint8Array, takesMs: number): Promise<void> {
  const size = Math.ceil(body.length / PIECE_COUNT)
  for (let at = 0; at < body.length && !clientRequest.destroyed; at += size) {
    await sleep((takesMs * size) / body.length)
    clientRequest.write(body.subarray(at, at + size))
  }
  clientRequest.end()
}

async function readText(response: IncomingMessage): Promise<string> {
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') ?? false
  let text = ''
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += part
    if (isStream && text.length < STREAM_BYTES) break
  }
  return text
}

export const closeConnections = (): void => agent.destroy()
