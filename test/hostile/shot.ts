import { Agent, type IncomingMessage, request } from 'node:http'
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
  readonly kinds: readonly string[]
}

export type Answer = {
  readonly status: number
  readonly type: string
  readonly text: string
  readonly tookMs: number
}

/** A large body of somebody who may not send it is not read to its end; the answer is lost where it is sent on nonetheless. */
export const CUT_OFF: Answer = { status: 0, type: '', text: '', tookMs: 0 }
const LARGE_BYTES = 60_000

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
      const isCut = (error.code === 'EPIPE' || error.code === 'ECONNRESET') && (body?.length ?? 0) > LARGE_BYTES
      if (isCut) resolve(CUT_OFF)
      else reject(error)
    })
    sent.end(body)
  })
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
