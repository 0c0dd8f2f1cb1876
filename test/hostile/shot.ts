import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Market } from './market.ts'

/** Who seems to ask: the credential is put in when the shot is sent. */
export type Caller = 'nobody' | 'stranger' | 'session' | 'order' | 'dashboard' | 'api' | 'seller' | 'operator'

/** One request, and what it is counted as. */
export type Shot = {
  readonly target: string
  readonly caller: Caller
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  /** In pieces that take so long together; all at once where nothing is said. */
  readonly bodyTakesMs?: number
  readonly kinds: readonly string[]
}

export type Answer = {
  readonly status: number
  readonly type: string
  readonly text: string
  readonly tookMs: number
}

/** A large body of somebody who may not send it is not read to its end, as little as a large head; the answer is lost where it is sent on nonetheless. */
export const CUT_OFF: Answer = { status: 0, type: '', text: '', tookMs: 0 }
const LARGE_BYTES = 60_000
const LARGE_PATH_BYTES = 15_000

// A connection for each shot: whatever breaks one is what was sent through it.
const agent = new Agent({ keepAlive: false })
const STREAM_BYTES = 200

/** @returns what was answered; of an endless stream the beginning @throws where the connection breaks or nothing comes */
export function fire(
  { host, port }: Pick<Market, 'host' | 'port'>,
  shot: Shot,
  authorization: string | undefined,
): Promise<Answer> {
  const began = performance.now()
  const { method, path, body } = shot
  const headers = { ...shot.headers, ...(authorization !== undefined && { authorization }) }
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, agent, method, path, headers, timeout: 30_000 }, (response) => {
      readAll(response).then((text) => {
        const type = response.headers['content-type'] ?? ''
        resolve({ status: response.statusCode ?? 0, type, text, tookMs: performance.now() - began })
      }, reject)
    })
    sent.on('timeout', () => sent.destroy(new Error('no answer within 30 s')))
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isCut = (error.code === 'EPIPE' || error.code === 'ECONNRESET') && isLarge(shot)
      if (isCut) resolve(CUT_OFF)
      else reject(error)
    })
    if (shot.bodyTakesMs === undefined) sent.end(body)
    else drip(sent, Buffer.from(body ?? ''), shot.bodyTakesMs).catch(reject)
  })
}

const isLarge = ({ body, path }: Shot): boolean => (body?.length ?? 0) > LARGE_BYTES || path.length > LARGE_PATH_BYTES

const PIECES = 30

/** Says its length first, or goes chunk by chunk, as its headers have it. */
async function drip(sent: ClientRequest, body: Uint8Array, takesMs: number): Promise<void> {
  const size = Math.ceil(body.length / PIECES)
  for (let at = 0; at < body.length && !sent.destroyed; at += size) {
    await sleep((takesMs * size) / body.length)
    sent.write(body.subarray(at, at + size))
  }
  sent.end()
}

async function readAll(response: IncomingMessage): Promise<string> {
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') ?? false
  let text = ''
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
    text += part
    if (isStream && text.length < STREAM_BYTES) break
  }
  return text
}

export const closeConnections = (): void => agent.destroy()
