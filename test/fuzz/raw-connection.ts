import { connect } from 'node:net'
import { INTERNAL_WORDS } from './checks/response-checks.ts'
import type { FuzzMarket } from './fuzz-market.ts'

/** Bytes that are sent unchanged, although no HTTP client would send them. */
export type RawBytes = string | Buffer

const ANSWER_TIMEOUT_MS = 2000

/** Sends bytes. @returns the answer until the server closed the connection, or until the timeout */
export function sendRaw(
  { host, port }: Pick<FuzzMarket, 'host' | 'port'>,
  parts: readonly RawBytes[],
  hangUp = false,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    const timer = setTimeout(() => socket.destroy(), timeoutMs)
    let text = ''
    socket.setEncoding('latin1').on('data', (part: string) => (text += part))
    // The server may reset the connection after invalid or too many bytes. This is a valid answer.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
    for (const part of parts) socket.write(part)
    if (hangUp) socket.end()
  })
}

/** Checks an answer to malformed HTTP. @returns a violation, or undefined */
export function checkRawResponse(text: string): string | undefined {
  const serverError = [...text.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)]
    .map(([, status]) => Number(status))
    .find((status) => status >= 500)
  if (serverError !== undefined) return `status ${serverError}`
  const internalWord = INTERNAL_WORDS.exec(text)?.[0]
  if (internalWord !== undefined) return `it shows "${internalWord}"`
  return text === '' || text.startsWith('HTTP/1.') ? undefined : 'it is not HTTP'
}
