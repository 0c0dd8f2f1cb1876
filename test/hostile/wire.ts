import { connect } from 'node:net'
import { INSIDE } from './judge.ts'
import type { Market } from './market.ts'

/** Bytes that no HTTP client would send, as they are. */
export type Bytes = string | Buffer

const ANSWER_WITHIN_MS = 2000

/** @returns what came back until the other side hung up, or nothing more came */
export function exchange(
  { host, port }: Pick<Market, 'host' | 'port'>,
  parts: readonly Bytes[],
  hangUp = false,
  withinMs = ANSWER_WITHIN_MS,
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    const timer = setTimeout(() => socket.destroy(), withinMs)
    let text = ''
    socket.setEncoding('latin1').on('data', (part: string) => (text += part))
    // A reset is an answer too: what was sent was no HTTP, or more than anybody wanted.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
    for (const part of parts) socket.write(part)
    if (hangUp) socket.end()
  })
}

/** @returns what is wrong with an answer to something that is no good HTTP */
export function wrongOnWire(text: string): string | undefined {
  const bad = [...text.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map(([, status]) => Number(status)).find((status) => status >= 500)
  if (bad !== undefined) return `status ${bad}`
  const shown = INSIDE.exec(text)?.[0]
  if (shown !== undefined) return `it shows "${shown}"`
  return text === '' || text.startsWith('HTTP/1.') ? undefined : 'it is no HTTP'
}
