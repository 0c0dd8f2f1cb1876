import { connect, type Socket } from 'node:net'
import { buildHead } from './truncated-requests.ts'
import type { FuzzMarket } from './fuzz-market.ts'
import type { FuzzRequest } from './request.ts'
import type { SlowOptions } from './slow-callers.ts'
import type { FuzzTarget } from './generators/targets.ts'
import { checkRawResponse } from './raw-connection.ts'

export type SlowReaders = {
  /** Names of targets that were tried. */
  readonly triedTargets: ReadonlySet<string>
  /** Reads the beginning of each answer, and closes the connection. @returns a sentence for each invalid answer */
  read(timeoutMs: number): Promise<readonly string[]>
}

/** Requests that a caller sends at once, without reading any answer. */
type UnreadRequest = { readonly name: string; readonly text: string; readonly mayBeCutOff?: true }

/** Requests on one connection. */
const REQUESTS_PER_CONNECTION = 12
const STREAM_COUNT = 5
const FLOOD_COUNT = 8
/** Bytes that Node reads from a connection at once. It receives all these requests before it can notice an unread answer. */
const READ_BYTES = 65_000
const MAX_BYTES = 100_000

/** Requests for the longest public answer, as many as Node reads at once. */
const floodRequest = ((page: string): UnreadRequest => ({
  name: 'repeated requests for the schema',
  text: page.repeat(Math.floor(READ_BYTES / page.length)),
  mayBeCutOff: true,
}))('GET /graphql/schema.graphql HTTP/1.1\r\nhost: x\r\n\r\n')

/** Starts callers that read no answers of queries, pages and event streams, with credentials that the targets accept. */
export function startSlowReaders(
  { host, port }: Pick<FuzzMarket, 'host' | 'port'>,
  { callers, validRequests }: SlowOptions,
): SlowReaders {
  const reads = [...validRequests].flatMap(([target, [request]]) => buildReads(target, request, callers))
  const sockets = [...reads, ...Array.from({ length: FLOOD_COUNT }, () => floodRequest)].map((request) => {
    const socket = connect(port, host).on('error', () => undefined)
    socket.write(request.text)
    return { ...request, socket }
  })
  return {
    triedTargets: new Set(reads.map(({ name }) => name)),
    async read(timeoutMs) {
      const checks = sockets.map(async ({ name, socket, mayBeCutOff }) => {
        const text = await readBeginning(socket, timeoutMs)
        const violation = text === '' && !mayBeCutOff ? 'no answer' : checkRawResponse(text)
        return violation === undefined ? [] : [`${name}, not read for a while: ${violation}\n  ${text.slice(0, 500)}`]
      })
      return (await Promise.all(checks)).flat()
    },
  }
}

function buildReads(
  target: FuzzTarget,
  request: FuzzRequest | undefined,
  { authorization }: SlowOptions['callers'],
): readonly UnreadRequest[] {
  if (!request || !/^(?:query|GET) /.test(target.name)) return []
  const body = Buffer.from(request.body ?? '').toString()
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  const requestText = `${buildHead(request, authorization(request.caller))}${length}\r\n${body}`
  // An event stream never ends, so no other request can follow on its connection.
  return target.name.endsWith('/events')
    ? Array.from({ length: STREAM_COUNT }, () => ({ name: target.name, text: requestText }))
    : [{ name: target.name, text: requestText.repeat(REQUESTS_PER_CONNECTION) }]
}

function readBeginning(socket: Socket, timeoutMs: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const end = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(text)
    }
    const timer = setTimeout(end, timeoutMs)
    if (socket.destroyed) return end()
    socket.once('close', end)
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part
      if (text.length > MAX_BYTES) end()
    })
  })
}
